/** A project of a server as the records that are copied, page by page, within one read transaction. */

import { infoIn, sessionHeadIn } from '../../log/fold.ts'
import { isIntact } from '../../log/records/stored-row.ts'
import { type ArchiveRow, archiveColumns } from '../../log/upkeep/archived-rows.ts'
import { copiedConversation, copiedEvent, copiedSession, type LaneColumns } from '../../log/upkeep/copied-rows.ts'
import { type CopiedKey, type CopySource, copyPageSize } from '../../log/upkeep/copy.ts'
import type { Run } from './database.ts'
import { refold } from './refold.ts'
import { blobsOf } from './rows.ts'

/** Bodies can be large: few at a time. */
const eventsPerPage = 200

/** `stored` is the name the project has on the server, `project` the one it goes by. */
export async function copySource(run: Run, stored: string, project: string): Promise<CopySource> {
  const [found] = await run<[number, number]>('select project, created_at from projects where id = $1', [stored])
  const [number, createdAt] = found ?? [0, 0]
  const refolded = (conversation: number, conversationId: string) =>
    refold(run, number, conversation, { project, conversationId })

  return {
    async counts() {
      if (!found) return undefined
      const [row] = await run<[number, number, number, number, number]>(
        `select (select count(*) from conversations where project = $1), (select count(*) from events where project = $1),
          (select count(*) from sessions where project = $1), (select count(*) from keys where project = $1),
          (select count(*) from purges where project = $1)`,
        [number],
      )
      const [conversations, events, sessions, keys, purges] = row!
      return { conversations, events, sessions, keys, purges }
    },
    createdAt: async () => createdAt,
    async *conversations() {
      type Row = [number, string, number, number, string, string, string, number, Uint8Array, number]
      for (let last = ''; ; ) {
        const rows = await run<Row>(
          `select conversation, id, created_at, recent_at, status, work_type, info, version, hash, active_at
          from conversations join ends using (project, conversation) where project = $1 and id > $2 order by id limit ${copyPageSize}`,
          [number, last],
        )
        if (rows.length === 0) return
        const page = []
        for (const [conversation, id, created, recentAt, status, workType, info, version, hash, activeAt] of rows) {
          last = id
          const readable = infoIn(info, () => undefined)
          const inLog = readable ?? (await refolded(conversation, id)).info
          const columns = { id, createdAt: created, recentAt, status, workType, info, version, hash, activeAt }
          page.push(copiedConversation(columns, project, () => inLog))
        }
        yield page
      }
    },
    async *events() {
      type Row = [tx: number, n: number, id: string, crc: number, ...LaneColumns, ...ArchiveRow]
      for (let last: [number, number] = [-1, 0]; ; ) {
        const rows = await run<Row>(
          `select e.tx, e.n, c.id, e.crc, l.audience_key, l.kind, l.audience, ${archiveColumns}
          from events e join conversations c using (project, conversation)
          left join lanes l on l.project = e.project and l.conversation = e.conversation and l.lane = e.lane
          where e.project = $1 and (e.tx, e.n) > ($2, $3) order by e.tx, e.n limit ${eventsPerPage}`,
          [number, ...last],
        )
        if (rows.length === 0) return
        const load = await blobsOf(
          run,
          number,
          rows.map(row => row[21]),
        )
        yield rows.map(([tx, n, conversationId, crc, audienceKey, kind, audience, ...row]) => {
          last = [tx, n]
          const [version, type, , at, , , , message] = row
          const isDamaged = !isIntact({ version, at, lane: null, type, message, body: row[14], crc })
          return copiedEvent({ conversationId, row, lane: [audienceKey, kind, audience], isDamaged, load })
        })
      }
    },
    async *sessions() {
      type Row = [number, string, string, string, string, number | null, string, number]
      for (let last = 0; ; ) {
        const rows = await run<Row>(
          `select s.session, s.id, c.id, s.agent, s.status, s.expires_at, s.head, s.conversation
          from sessions s join conversations c using (project, conversation)
          where s.project = $1 and s.session > $2 order by s.session limit ${copyPageSize}`,
          [number, last],
        )
        if (rows.length === 0) return
        const page = []
        for (const [session, id, conversationId, agent, status, expiresAt, head, conversation] of rows) {
          last = session
          const readable = sessionHeadIn(head, () => undefined)
          const inLog = readable ?? (await refolded(conversation, conversationId)).sessions.get(id)
          page.push(copiedSession({ id, conversationId, agent, status, expiresAt, head }, () => inLog))
        }
        yield page
      }
    },
    async *keys() {
      for (let last = ''; ; ) {
        const rows = await run<[string, string, string, number, number, string | null]>(
          `select key, digest, conversation_id, first_version, last_version, session_id from keys
          where project = $1 and key > $2 order by key limit ${copyPageSize}`,
          [number, last],
        )
        if (rows.length === 0) return
        yield rows.map(([key, digest, conversationId, firstVersion, lastVersion, sessionId]): CopiedKey => {
          last = key
          return { key, digest, conversationId, firstVersion, lastVersion, sessionId }
        })
      }
    },
    async purges() {
      const rows = await run<
        [string, string, number, Uint8Array, number, string, string, string | null, string | null, number | null]
      >(
        `select conversation_id, archive, events, hash, at, actor, channel, request, reason, restored_at from purges
        where project = $1 order by purge`,
        [number],
      )
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
