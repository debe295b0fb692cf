/** Pages of the log in the order of positions. */
import { PositionUnknown } from '../../../errors.ts'
import type { RecordedEvent } from '../../../log/events/recorded-event.ts'
import { eventCharacters, feedLimits, isFullPage } from '../../common/feed-limits.ts'
import type { Database } from '../database.ts'
import type { HeadStore } from '../heads.ts'
import { checkOf, positionFloor, positionParts, positionText } from '../position.ts'
import { blobLoader, type EventRow, eventColumns, recordedEvent } from '../rows.ts'

export interface Entry {
  row: number
  event: RecordedEvent
  /** Its characters, near enough. */
  size: number
}

/** Entries for a reader, and the row up to which nothing else is for it. */
export interface FeedPage {
  entries: Entry[]
  upTo: number
}

type FeedRow = [...EventRow, conversationId: string, project: string, projectRow: number]

/** A reader of one conversation looks through so many events of others at once. */
const maxRowsLookedThrough = 10_000

export type LogPages = ReturnType<typeof logPages>

export function logPages({ database, heads, epoch }: { database: Database; heads: HeadStore; epoch: () => string }) {
  const pageWhere = (condition: string) => `
    select ${eventColumns}, c.id, p.id, p.project from events e
    join conversations c using (conversation) join projects p using (project)
    where ${condition} order by e.position limit ${feedLimits.page.events}`
  const sql = {
    after: database.prepare(pageWhere('e.position > ?')),
    inConversation: database.prepare(pageWhere('e.position > ? and e.position <= ? and +e.conversation = ?')),
    last: database.prepare('select position, hash from events order by position desc limit 1'),
    hashAt: database.prepare('select hash from events where position = ?'),
    floor: database.prepare(`select ${positionFloor()}`),
    newestPurge: database.prepare('select coalesce(max(purge), 0) from purges'),
  }
  const loadBlob = blobLoader(database)

  function entriesIn(rows: Iterable<FeedRow>): Entry[] {
    const entries: Entry[] = []
    let characters = 0
    for (const row of rows) {
      const [conversationId, project, projectRow] = row.slice(-3) as [string, string, number]
      const place = { project, conversationId, epoch: epoch() }
      const event = recordedEvent(row.slice(0, -3) as EventRow, place, loadBlob(projectRow))
      const size = eventCharacters(row[11])
      entries.push({ row: row[0], event, size })
      characters += size
      if (characters >= feedLimits.page.characters) break
    }
    return entries
  }

  function last(): { row: number; hash: Uint8Array | undefined } {
    const [floor] = sql.floor.get() as [number]
    const [row = 0, hash] = (sql.last.get() as [number, Uint8Array] | undefined) ?? []
    return row >= floor ? { row, hash } : { row: floor, hash: undefined }
  }

  return {
    lastRow: () => last().row,
    newestPurge: () => (sql.newestPurge.get() as [number])[0],

    /** The position of the newest event. */
    position(): string {
      const { row, hash } = last()
      return positionText(epoch(), row, hash)
    },

    after: (row: number): Entry[] => entriesIn(sql.after.iterate(row) as Iterable<FeedRow>),

    /** The next events of one conversation, among a limited stretch of the log. */
    ofConversation(after: number, project: string, conversationId: string): FeedPage {
      const end = last().row
      // Another process may have purged the conversation and restored it under another number.
      heads.refresh()
      const conversation = heads.conversationRow(project, conversationId)
      if (conversation === undefined) return { entries: [], upTo: end }
      const upTo = Math.min(end, after + maxRowsLookedThrough)
      const entries = entriesIn(sql.inConversation.iterate(after, upTo, conversation) as Iterable<FeedRow>)
      return { entries, upTo: isFullPage(entries) ? entries.at(-1)!.row : upTo }
    },

    /**
     * The row that a reader starts after.
     *
     * @throws {PositionUnknown} when `from` is not a position of this store
     */
    startOf(from: string): number {
      if (from === 'start') return 0
      if (from === 'now') return last().row
      const parts = positionParts(from)
      if (parts.epoch !== epoch())
        throw new PositionUnknown(from, 'it is from another store, or from before this one was restored or copied')
      if (parts.row > last().row) throw new PositionUnknown(from, 'it lies beyond the end of this log')
      const [hash] = (sql.hashAt.get(parts.row) as [Uint8Array] | undefined) ?? []
      if (hash && parts.check !== '' && checkOf(hash) !== parts.check) {
        throw new PositionUnknown(from, 'another event stands there now: the store was restored or replaced')
      }
      return parts.row
    },
  }
}
