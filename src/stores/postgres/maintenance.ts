/** What is due: sessions without use, conversations to put away. Who decides and records it is the engine. */
import { numbersIn } from '../../log/cursor.ts'
import type { Listed } from '../../log/directory.ts'
import type { Proposal } from '../../log/event-log.ts'
import type { ConversationHead } from '../../log/views/conversation.ts'
import { expiryOf, type SessionHead } from '../../log/views/session.ts'
import type { Database } from './database.ts'
import { type HeadStore, lastActiveAt } from './heads.ts'
import type { Projects } from './projects.ts'

export function maintenance({
  database,
  heads,
  projects,
  conversation,
}: {
  database: Database
  heads: HeadStore
  projects: Projects
  conversation(project: string, id: string): Promise<ConversationHead | undefined>
}) {
  const sql = {
    expiring: `
      select id from sessions where project = $1 and status = 'active' and expires_at <= $2
      order by expires_at limit $3`,
    postpone: 'update sessions set expires_at = $3 where project = $1 and id = $2 and expires_at < $3',
    archivable: `
      select conversation, id from conversations join ends using (project, conversation)
      where project = $1 and conversation > $6 and status <> 'archived' and (
        (status = 'completed' and $2::boolean)
        or created_at <= $3::bigint
        or (recent_at <= $4::bigint and active_at <= $4::bigint))
      order by conversation limit $5`,
    due: `
      select conversation, id, due_at from conversations
      where project = $1 and due_at <= $2 and (due_at, conversation) > ($3, $4)
      order by due_at, conversation limit $5`,
  }

  return {
    /** Use since the row was written moves its expiry on; only those that are really due are given. */
    async expiring(project: string, now: number, limit: number): Promise<SessionHead[]> {
      const number = await projects.find(project)
      if (number === undefined) return []
      // What is too damaged to have a head is passed over, and named by verify.
      for (let passedOver = 0; ; ) {
        const rows = await database.read<[string]>(sql.expiring, [number, now, limit + passedOver])
        const asked = rows.map(([id]) => ({
          proposal: { project, conversation: 'of-session', session: { id } } as Proposal,
          number,
        }))
        const due: SessionHead[] = []
        let used = 0
        let lost = 0
        for (const { entry, session } of await heads.load(database.read, asked)) {
          if (!session) {
            lost++
            continue
          }
          const expiresAt = expiryOf(session, lastActiveAt(entry, session))
          if (expiresAt !== undefined && expiresAt <= now) {
            due.push(session)
            continue
          }
          used++
          await database.read(sql.postpone, [number, session.id, expiresAt ?? Number.MAX_SAFE_INTEGER])
        }
        if (due.length > 0 || (used === 0 && lost === passedOver)) return due.slice(0, limit)
        passedOver = lost
      }
    },

    async archivable(
      project: string,
      due: { completed?: boolean; createdBefore?: number; inactiveSince?: number },
      { limit, cursor }: { limit: number; cursor?: string },
    ): Promise<Listed<ConversationHead>> {
      const number = await projects.find(project)
      if (number === undefined) return { items: [] }
      const { completed = false, createdBefore = null, inactiveSince = null } = due
      const [after = 0] = cursor === undefined ? [] : numbersIn(cursor, 1)
      const values = [number, completed, createdBefore, inactiveSince, limit + 1, after]
      const rows = await database.read<[number, string]>(sql.archivable, values)
      const last = rows[limit - 1]
      const found = await Promise.all(rows.slice(0, limit).map(([, id]) => conversation(project, id)))
      return {
        items: found.filter(head => head !== undefined),
        ...(rows.length > limit && last && { next: String(last[0]) }),
      }
    },

    async due(
      project: string,
      now: number,
      { limit, cursor }: { limit: number; cursor?: string },
    ): Promise<Listed<ConversationHead>> {
      const number = await projects.find(project)
      if (number === undefined) return { items: [] }
      const [dueAt = 0, last = 0] = cursor === undefined ? [] : numbersIn(cursor, 2)
      const rows = await database.read<[number, string, number]>(sql.due, [number, now, dueAt, last, limit + 1])
      const lastShown = rows[limit - 1]
      const found = await Promise.all(rows.slice(0, limit).map(([, id]) => conversation(project, id)))
      return {
        items: found.filter(head => head !== undefined),
        ...(rows.length > limit && lastShown && { next: `${lastShown[2]}.${lastShown[0]}` }),
      }
    },
  }
}
