/**
 * Gives messages their place again where none leads to them, or one that says something else. The log is only read.
 *
 * A place whose message is gone stays: it says that there was one.
 */
import { isIntact } from '../../../log/records/stored-row.ts'
import type { RepairedHead } from '../../../log/upkeep.ts'
import type { Database } from '../database.ts'
import { filing } from '../read/places.ts'
import { inTransaction } from '../transaction.ts'
import { isMeant, isUnplaced } from './checked.ts'

type MessageRow = [
  position: number,
  version: number,
  at: number,
  lane: number,
  type: string,
  message: string | null,
  crc: number,
  body: string | null,
  messages: number,
  tokens: number,
  input: number,
  output: number,
  conversationId: string,
  project: string,
]

export function placeRepairer(database: Database) {
  const sql = {
    // Without a lock: in a large log it takes a while.
    unplaced: database.prepare(`
      select e.position from events e where ${isUnplaced} and e.conversation in (
        select c.conversation from conversations c join projects p using (project) where ${isMeant})`),
    // A lane of another conversation is not believed.
    message: database.prepare(`
      select e.position, e.version, e.at, e.lane, e.type, e.message, e.crc, e.body,
        e.messages, e.tokens, e.input, e.output, c.id, o.id
      from events e join conversations c using (conversation) join projects o using (project)
        join lanes l on l.lane = e.lane and l.conversation = e.conversation
      where e.position = ? and ${isUnplaced}`),
    place: database.prepare(`
      insert or replace into places (lane, version, messages, tokens, input, output, position)
      values (?, ?, ?, ?, ?, ?, ?)`),
  }
  const { move } = filing(database)

  return (project: string | undefined): RepairedHead[] => {
    const positions = sql.unplaced.all(project ?? null) as Array<[number]>
    if (positions.length === 0) return []
    const counts = new Map<string, RepairedHead & { messages: number }>()
    inTransaction(database, () => {
      // What is newer must not stand before what is older: all of it is in one table then.
      move()
      for (const [position] of positions) {
        const row = sql.message.get(position) as MessageRow | undefined
        if (row && put(row)) count(row)
      }
    })
    return [...counts.values()].map(({ messages, ...rest }) => ({
      ...rest,
      what: `${messages} ${messages === 1 ? 'message was' : 'messages were'} not where the lanes say`,
    }))

    function count(row: MessageRow): void {
      const [conversationId, project] = [row[12], row[13]]
      const key = `${project}\0${conversationId}`
      const known = counts.get(key) ?? { project, conversationId, what: '', messages: 0 }
      counts.set(key, { ...known, messages: known.messages + 1 })
    }
  }

  /** Only by a row that is what was written: its version and its lane may be what is damaged. */
  function put(row: MessageRow): boolean {
    const [position, version, at, lane, type, message, crc, body, messages, tokens, input, output] = row
    if (!isIntact({ version, at, lane, type, message, crc, body })) return false
    sql.place.run(lane, version, messages, tokens, input, output, position)
    return true
  }
}
