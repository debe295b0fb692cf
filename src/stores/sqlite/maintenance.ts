/** What is due: sessions without use, conversations to put away. Who decides and records it is the engine. */
import { numbersIn } from '../../log/cursor.ts'
import type { Listed } from '../../log/directory.ts'
import { viewerOf } from '../../log/visibility.ts'
import type { ConversationHead } from '../../views/conversation.ts'
import { expiryOf, type SessionHead } from '../../views/session.ts'
import type { Access } from './access.ts'
import type { Database } from './database.ts'
import type { HeadStore } from './heads.ts'
import { lastUse, newestPosition } from './places.ts'

export function maintenance({ database, heads, reading, writing }: { database: Database; heads: HeadStore } & Access) {
  const sql = {
    expiring: database.prepare(`
      select s.id, s.conversation from sessions s
      where s.project = ? and s.status = 'active' and s.expires_at <= ? order by s.expires_at limit ?`),
    archivable: database.prepare(`
      select c.conversation, c.id from conversations c
      where c.project = ?1 and c.conversation > ?6 and c.status <> 'archived' and (
        (c.status = 'completed' and ?2)
        or (?3 is not null and c.created_at <= ?3)
        or (?4 is not null and c.recent_at <= ?4
            and (select ${lastUse('c.conversation')} from events e where e.position = ${newestPosition('c.conversation')}) <= ?4))
      order by c.conversation limit ?5`),
    due: database.prepare(`
      select c.conversation, c.id, c.due_at from conversations c
      where c.project = ? and c.due_at <= ? and (c.due_at, c.conversation) > (?, ?)
      order by c.due_at, c.conversation limit ?`),
  }

  function candidates(project: string, now: number, limit: number) {
    const projectRow = heads.projectRow(project)
    const rows = projectRow === undefined ? [] : (sql.expiring.all(projectRow, now, limit) as Array<[string, number]>)
    const due: SessionHead[] = []
    const used: Array<{ id: string; expiresAt: number }> = []
    for (const [id, conversationRow] of rows) {
      const { head } = heads.session(project, id)!
      const expiresAt = expiryOf(head, heads.lastActiveAt(conversationRow, head, viewerOf(head)))
      if (expiresAt === undefined || expiresAt > now) used.push({ id, expiresAt: expiresAt ?? Number.MAX_SAFE_INTEGER })
      else due.push(head)
    }
    return { rows: rows.length, due, used }
  }

  return {
    /** Use since the row was written moves its expiry on; only those that are really due are given. */
    async expiring(project: string, now: number, limit: number): Promise<SessionHead[]> {
      for (;;) {
        const { rows, due, used } = await reading(() => candidates(project, now, limit))
        if (used.length > 0) {
          await writing(() => {
            for (const { id, expiresAt } of used) heads.postponeExpiry(heads.session(project, id)!, expiresAt)
          })
        }
        if (due.length > 0 || rows === 0) return due
      }
    },

    archivable(
      project: string,
      due: { completed?: boolean; createdBefore?: number; inactiveSince?: number },
      { limit, cursor }: { limit: number; cursor?: string },
    ): Listed<ConversationHead> {
      const projectRow = heads.projectRow(project)
      if (projectRow === undefined) return { items: [] }
      const { completed = false, createdBefore = null, inactiveSince = null } = due
      const [after = 0] = cursor === undefined ? [] : numbersIn(cursor, 1)
      const values = [projectRow, completed ? 1 : 0, createdBefore, inactiveSince, limit + 1, after]
      const rows = sql.archivable.all(...values) as Array<[number, string]>
      const last = rows[limit - 1]
      return {
        items: rows.slice(0, limit).map(([, id]) => heads.conversation(project, id)!.head),
        ...(rows.length > limit && last && { next: String(last[0]) }),
      }
    },

    due(project: string, now: number, { limit, cursor }: { limit: number; cursor?: string }): Listed<ConversationHead> {
      const projectRow = heads.projectRow(project)
      if (projectRow === undefined) return { items: [] }
      const [dueAt = 0, row = 0] = cursor === undefined ? [] : numbersIn(cursor, 2)
      const rows = sql.due.all(projectRow, now, dueAt, row, limit + 1) as Array<[number, string, number]>
      const last = rows[limit - 1]
      return {
        items: rows.slice(0, limit).map(([, id]) => heads.conversation(project, id)!.head),
        ...(rows.length > limit && last && { next: `${last[2]}.${last[0]}` }),
      }
    },
  }
}
