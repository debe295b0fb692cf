/** A project of a file as the records that are copied, page by page, within one read transaction. */
import { setImmediate as breathe } from 'node:timers/promises'
import { isIntact } from '../../../log/records/stored-row.ts'
import { type ArchiveRow, archiveColumns } from '../../../log/upkeep/archived-rows.ts'
import { copiedConversation, copiedEvent, copiedSession, type LaneColumns } from '../../../log/upkeep/copied-rows.ts'
import { type CopiedKey, type CopySource, copyPageSize } from '../../../log/upkeep/copy.ts'
import type { Database } from '../database.ts'
import { lastUse, newestPosition } from '../read/event-queries.ts'
import { refolder } from '../refold.ts'
import { blobLoader } from '../rows.ts'

/** Bodies can be large; a page ends when it holds this much. */
const pageCharacters = 4 * 1024 * 1024

/** `stored` is the name the project has in the file, `project` the one it goes by. */
export function copySource(database: Database, stored: string, project: string): CopySource {
  const sql = {
    project: database.prepare('select project, created_at from projects where id = ?'),
    counts: database.prepare(`
      select (select count(*) from conversations where project = ?1),
        (select count(*) from events e join conversations c using (conversation) where c.project = ?1),
        (select count(*) from sessions where project = ?1), (select count(*) from keys where project = ?1),
        (select count(*) from purges where project = ?1)`),
    conversations: database.prepare(`
      select c.conversation, c.id, c.created_at, c.recent_at, c.status, c.work_type, c.info, e.version, e.hash,
        ${lastUse('c.conversation')}
      from conversations c left join events e on e.position = ${newestPosition('c.conversation')}
      where c.project = ?1 and c.id > ?2 order by c.id limit ${copyPageSize}`),
    events: database.prepare(`
      select e.position, c.id, e.crc, l.audience_key, l.kind, l.audience, ${archiveColumns}
      from events e cross join conversations c on c.conversation = e.conversation left join lanes l on l.lane = e.lane
      where e.position > ?2 and c.project = ?1 order by e.position limit ${copyPageSize}`),
    // The plus keeps an index by project out of it, which would sort all of them for every page.
    sessions: database.prepare(`
      select s.session, s.id, c.id, s.agent, s.status, min(s.expires_at, ${Number.MAX_SAFE_INTEGER}), s.head, s.conversation
      from sessions s join conversations c using (conversation)
      where +s.project = ?1 and s.session > ?2 order by s.session limit ${copyPageSize}`),
    keys: database.prepare(`
      select key, digest, conversation_id, first_version, last_version, session_id from keys
      where project = ?1 and key > ?2 order by key limit ${copyPageSize}`),
    purges: database.prepare(`
      select conversation_id, archive, events, hash, at, actor, channel, request, reason, restored_at from purges
      where project = ? order by purge`),
  }
  const refold = refolder(database)
  const row = () => (sql.project.get(stored) as [number, number] | undefined)?.[0] ?? 0

  return {
    async counts() {
      if (row() === 0) return undefined
      const [conversations, events, sessions, keys, purges] = sql.counts.get(row()) as number[]
      return {
        conversations: conversations!,
        events: events!,
        sessions: sessions!,
        keys: keys!,
        purges: purges!,
      }
    },
    createdAt: async () => (sql.project.get(stored) as [number, number])[1],
    async *conversations() {
      type Row = [number, string, number, number, string, string, string, number | null, Uint8Array | null, number]
      for (let last = ''; ; ) {
        const rows = sql.conversations.all(row(), last) as Row[]
        const found = rows.at(-1)
        if (!found) return
        last = found[1]
        yield rows.map(([number, id, createdAt, recentAt, status, workType, info, version, hash, activeAt]) =>
          copiedConversation(
            {
              id,
              createdAt,
              recentAt,
              status,
              workType,
              info,
              version: version ?? 0,
              hash: hash ?? new Uint8Array(),
              activeAt: activeAt ?? createdAt,
            },
            project,
            () => refold(number, { project, conversationId: id }).info,
          ),
        )
      }
    },
    async *events() {
      const load = blobLoader(database)(row())
      type Row = [position: number, id: string, crc: number, ...LaneColumns, ...ArchiveRow]
      for (let last = 0; ; ) {
        const rows = sql.events.all(row(), last) as Row[]
        if (rows.length === 0) return
        const page = []
        let characters = 0
        for (const [position, conversationId, crc, audienceKey, kind, audience, ...event] of rows) {
          const [version, type, , at, , , , message, lane] = event
          const isDamaged = !isIntact({ version, at, lane, type, message, body: event[14], crc })
          page.push(copiedEvent({ conversationId, row: event, lane: [audienceKey, kind, audience], isDamaged, load }))
          last = position
          characters += event[14]?.length ?? 0
          if (characters > pageCharacters) break
        }
        yield page
        await breathe()
      }
    },
    async *sessions() {
      type Row = [number, string, string, string, string, number | null, string, number]
      for (let last = 0; ; ) {
        const rows = sql.sessions.all(row(), last) as Row[]
        if (rows.length === 0) return
        yield rows.map(([session, id, conversationId, agent, status, expiresAt, head, conversation]) => {
          last = session
          return copiedSession({ id, conversationId, agent, status, expiresAt, head }, () =>
            refold(conversation, { project, conversationId }).sessions.get(id),
          )
        })
      }
    },
    async *keys() {
      for (let last = ''; ; ) {
        const rows = sql.keys.all(row(), last) as Array<[string, string, string, number, number, string | null]>
        if (rows.length === 0) return
        yield rows.map(([key, digest, conversationId, firstVersion, lastVersion, sessionId]): CopiedKey => {
          last = key
          return { key, digest, conversationId, firstVersion, lastVersion, sessionId }
        })
      }
    },
    async purges() {
      const rows = sql.purges.all(row()) as Array<
        [string, string, number, Uint8Array, number, string, string, string | null, string | null, number | null]
      >
      return rows.map(([conversationId, archive, events, hash, at, actor, channel, requestId, reason, restoredAt]) => ({
        conversationId,
        archive,
        events,
        hash: Buffer.from(hash).toString('base64'),
        at,
        actor,
        channel,
        requestId,
        reason,
        restoredAt,
      }))
    },
  }
}
