/** Idempotency keys: the same key gives what it recorded when it was used first. */
import { ConversationPurged, KeyReused } from '../../../errors.ts'
import type { Appended, Once, Proposal } from '../../../log/event-log.ts'
import { isSameCall } from '../../common/proposal.ts'
import type { Database } from '../database.ts'
import type { HeadStore } from '../heads.ts'
import type { ReadEvents } from '../read/read.ts'
import type { PurgeRecords } from './purge-records.ts'

type KeyRow = [digest: string, conversationId: string, first: number, last: number, sessionId: string | null]

export interface RecordedRange {
  conversationId: string
  first: number
  /** Before `first` when nothing was recorded. */
  last: number
  sessionId: string | undefined
}

export function idempotencyKeys({
  database,
  heads,
  read,
  purges,
}: {
  database: Database
  heads: HeadStore
  read: ReadEvents
  purges: PurgeRecords
}) {
  const sql = {
    find: database.prepare(`
      select digest, conversation_id, first_version, last_version, session_id from keys where project = ? and key = ?`),
    insert: database.prepare(`
      insert into keys (project, key, digest, conversation_id, first_version, last_version, session_id)
      values (?, ?, ?, ?, ?, ?, ?)`),
  }

  /** Returns what the key of a proposal recorded before; undefined when it is new. */
  function replay({ project, once }: Proposal): Appended | undefined {
    const projectRow = once && heads.projectRow(project)
    const key = projectRow && (sql.find.get(projectRow, once!.key) as KeyRow | undefined)
    if (!key) return undefined
    const [digest, conversationId, first, last, sessionId] = key
    if (!isSameCall(digest, once!)) throw new KeyReused(once!.key)
    const entry = heads.conversation(project, conversationId)
    const hasEvents = last >= first
    if (!entry) {
      const archive = purges.archiveOf(project, conversationId)
      // A key that recorded nothing may be of a conversation that was never made.
      if (archive !== undefined || hasEvents) {
        throw new ConversationPurged({ conversationId, archive: archive ?? 'unknown' })
      }
    }
    return {
      conversation: entry?.head,
      session: sessionId === null ? undefined : heads.session(project, sessionId)?.head,
      events:
        entry && hasEvents ? read({ project, conversationId, from: first, to: last, limit: last - first + 1 }) : [],
      replayed: true,
    }
  }

  function remember({ project, once }: { project: string; once: Once }, range: RecordedRange, now: number): void {
    const { conversationId, first, last, sessionId } = range
    const projectRow = heads.ensureProject(project, now)
    sql.insert.run(projectRow, once.key, once.digest, conversationId, first, last, sessionId ?? null)
  }

  return { replay, remember }
}
