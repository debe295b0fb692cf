/** Reads the log, attached as `log` to the connection of the index. */
import type { StoredEvent } from '../../../log/events/event.ts'
import type { MessageAdded } from '../../../log/events/message.ts'
import type { LoadBlob } from '../../../log/records/record.ts'
import { eventIn } from '../../../log/records/stored-row.ts'
import type { Database } from '../database.ts'
import { damaged } from '../errors.ts'
import { lastPosition } from '../position.ts'
import { blobLoader } from '../rows.ts'
import type { Statement } from '../statement.ts'
import { marksOf } from './place-marks.ts'

/** Larger batches write fewer pages for each event; this one keeps the worker from other work for some 70 ms. */
const batch = { events: 2000, characters: 1_000_000 }
/** Long events would otherwise fill the memory. */
const eventsPerRead = 250

const maxCachedProjects = 10_000

export type LogRow = [
  position: number,
  conversation: number,
  version: number,
  type: string,
  schema: number,
  at: number,
  message: string | null,
  lane: number | null,
  crc: number,
  body: string | null,
]

const rowColumns = 'position, conversation, version, type, schema, at, message, lane, crc, body'

export class AttachedLog {
  readonly #path: string
  readonly #blobs: (project: number) => LoadBlob
  readonly #sql: Record<'after' | 'at' | 'project' | 'conversation' | 'hash' | 'end' | 'lastPurge', Statement>
  /** A conversation never changes its project, and its number is never used again. */
  readonly #projects = new Map<number, number>()

  constructor(database: Database, path: string) {
    this.#path = path
    this.#blobs = blobLoader(database)
    this.#sql = {
      after: database.prepare(`
        select ${rowColumns} from log.events where position > ? order by position limit ${eventsPerRead}`),
      at: database.prepare(`select ${rowColumns} from log.events where position = ?`),
      project: database.prepare('select project from log.conversations where conversation = ?'),
      conversation: database.prepare(`
        select c.conversation from log.conversations c join log.projects p using (project) where p.id = ? and c.id = ?`),
      hash: database.prepare('select hash from log.events where position = ?'),
      end: database.prepare(`select ${lastPosition('log')}`),
      lastPurge: database.prepare('select coalesce(max(purge), 0) from log.purges'),
    }
  }

  /** The rows of one batch. `isAll` is true when the log has no more. */
  rowsAfter(position: number): { rows: LogRow[]; isAll: boolean } {
    const rows: LogRow[] = []
    let last = position
    let characters = 0
    while (rows.length < batch.events && characters < batch.characters) {
      const page = this.#sql.after.all(last) as LogRow[]
      for (const row of page) {
        // In a damaged tree the next row may have a lower position; reading on from there would never end.
        if (row[0] <= last) throw damaged(this.#path, `positions out of order behind ${last}`)
        last = row[0]
        rows.push(row)
        characters += row[9]?.length ?? 0
      }
      if (page.length < eventsPerRead) return { rows, isAll: true }
    }
    return { rows, isAll: false }
  }

  /** Undefined for a conversation that is not in the log. */
  projectOf(conversation: number): number | undefined {
    const cached = this.#projects.get(conversation)
    if (cached !== undefined) return cached
    const row = this.#sql.project.get(conversation) as [number] | undefined
    if (!row) return undefined
    if (this.#projects.size > maxCachedProjects) this.#projects.clear()
    this.#projects.set(conversation, row[0])
    return row[0]
  }

  conversationOf(project: string, conversationId: string): number | undefined {
    return (this.#sql.conversation.get(project, conversationId) as [number] | undefined)?.[0]
  }

  forgetProjects(): void {
    this.#projects.clear()
  }

  eventOf(row: LogRow, project: number): StoredEvent {
    const [, , version, type, schema, at, message, lane, crc, body] = row
    return eventIn({ version, at, lane, type, schema, message, crc, body }, this.#blobs(project))
  }

  /** The message at a position, as long as its content is in the log. */
  messageAt(position: number): { place: string; event: MessageAdded } | undefined {
    const row = this.#sql.at.get(position) as LogRow | undefined
    const project = row && this.projectOf(row[1])
    if (!row || project === undefined) return undefined
    const event = this.eventOf(row, project)
    return event.type === 'message.added' ? { place: marksOf(project, row[1]), event } : undefined
  }

  /** The hash of the event at a position, in hex. */
  hashAt(position: number): string | undefined {
    const row = this.#sql.hash.get(position) as [Uint8Array] | undefined
    return row && Buffer.from(row[0]).toString('hex')
  }

  end(): number {
    return (this.#sql.end.get() as [number])[0]
  }

  lastPurge(): number {
    return (this.#sql.lastPurge.get() as [number])[0]
  }
}
