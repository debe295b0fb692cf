/**
 * Where messages stand: lane, version and running sums of each, and the position of its row.
 *
 * Two tables of one shape. An append adds to `recent`, which is kept small, so that messages to many conversations share
 * a few pages of it; now and then all of it moves to `places`, many entries to a page. With an index over the log every
 * message of a busy store would write a page of its own, and writing pages is most of what a commit costs.
 *
 * Versions of a lane grow with time, so whatever is in `recent` comes after what is in `places`. Each question below is
 * one statement over both, because another process may move entries between two.
 */
import { unusedMark } from '../../../log/views/conversation.ts'
import type { Database } from '../database.ts'

/** From so many on they are worth moving. */
const manyRecent = 1024

/** A compound select over both tables, in order of version, which is the first column. */
export function standing(columns: string, { where, direction }: { where: string; direction: 'asc' | 'desc' }): string {
  return `
    select version, ${columns} from places where ${where}
    union all
    select version, ${columns} from recent where ${where}
    order by 1 ${direction}`
}

/** The position of a conversation's newest event: a seek for each lane. Positions grow with versions. */
export function newestPosition(conversation: string, facts = 'lane is null'): string {
  return `max(
    coalesce((
      select position from events where conversation = ${conversation} and ${facts} order by version desc limit 1), 0),
    coalesce((
      select max(coalesce(
        (select position from recent where lane = l.lane order by version desc limit 1),
        (select position from places where lane = l.lane order by version desc limit 1)))
      from lanes l where l.conversation = ${conversation}), 0))`
}

/** When a conversation was last used, where `e` is its newest event. As a rule that is the time of this one. */
export function lastUse(conversation: string): string {
  const facts = `lane is null and type <> '${unusedMark}'`
  return `iif(e.type = '${unusedMark}', (select at from events where position = ${newestPosition(conversation, facts)}), e.at)`
}

/** Whether a conversation was used at a time or later. */
export function usedSince(conversation: string): string {
  return `(select ${lastUse(conversation)} from events e where e.position = ${newestPosition(conversation)}) >= ?`
}

/**
 * The events of conversation ?1 with versions from ?2 to ?3, messages and other facts, as `e`. The limit that is none makes
 * SQLite sort the places, and not the rows with their bodies.
 */
export function inVersionOrder(columns: string, direction: 'asc' | 'desc' = 'asc'): string {
  return `
    select ${columns} from (
      select version, position from events where conversation = ?1 and lane is null and version between ?2 and ?3
      union all
      select p.version, p.position from lanes l cross join places p on p.lane = l.lane
      where l.conversation = ?1 and p.version between ?2 and ?3
      union all
      select r.version, r.position from lanes l cross join recent r on r.lane = l.lane
      where l.conversation = ?1 and r.version between ?2 and ?3
      order by 1 ${direction} limit -1) place
    cross join events e on e.position = place.position order by place.version ${direction}`
}

/** Moves `recent` when there is enough of it. */
export function filing(database: Database) {
  const sql = {
    count: database.prepare('select count(*) from recent'),
    move: database.prepare('insert into places select * from recent'),
    empty: database.prepare('delete from recent'),
  }
  // What earlier programs left is counted in the first transaction.
  let added = manyRecent
  const move = () => {
    sql.move.run()
    sql.empty.run()
  }
  return {
    add: (messages: number) => {
      added += messages
    },
    isDue: () => added >= manyRecent,
    /** Inside a transaction. Others may have moved them meanwhile, or added to them. */
    moveIfDue(): void {
      if (added < manyRecent) return
      const [count] = sql.count.get() as [number]
      if (count >= manyRecent) move()
      added = count >= manyRecent ? 0 : count
    },
    /** Inside a transaction. */
    move,
  }
}
