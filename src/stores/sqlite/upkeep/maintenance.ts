/**
 * Finds due work: sessions without use, conversations to archive. The engine decides and records. A conversation that is
 * too damaged to have a head is skipped, and `verify` names it.
 */
import { numbersIn } from '../../../log/cursor.ts'
import type { Listed } from '../../../log/directory.ts'
import type { ConversationHead } from '../../../log/views/conversation.ts'
import { expiryOf, type SessionHead } from '../../../log/views/session.ts'
import { viewerOf } from '../../../log/visibility.ts'
import type { Access } from '../access.ts'
import type { Database } from '../database.ts'
import type { HeadStore } from '../heads.ts'
import { lastUse } from '../read/event-queries.ts'

/** A head is read with the newest event. */
const hasHead = 'exists (select 1 from events e where e.conversation = c.conversation)'

/** Conversations of all projects that one page looks at. The next page finds what is due behind them. */
const lookedThrough = 5000

export function maintenance({ database, heads, reading, writing }: { database: Database; heads: HeadStore } & Access) {
  const sql = {
    expiring: database.prepare(`
      select s.id, s.conversation from sessions s
      where s.project = ? and s.status = 'active' and s.expires_at <= ? order by s.expires_at limit ?`),
    stretch: database.prepare(`
      select conversation from conversations where conversation > ? order by conversation limit 1 offset ${lookedThrough - 1}`),
    // The `+` keeps SQLite from looking at all of the project, and sorting it, for every page.
    archivable: database.prepare(`
      select c.conversation, c.id from conversations c
      where +c.project = ?1 and c.conversation > ?6 and c.conversation <= ?7 and c.status <> 'archived' and ${hasHead} and (
        (c.status = 'completed' and ?2)
        or (?3 is not null and c.created_at <= ?3)
        or (?4 is not null and c.recent_at <= ?4
            and ${lastUse('c.conversation')} <= ?4))
      order by c.conversation limit ?5`),
    due: database.prepare(`
      select c.conversation, c.id, c.due_at from conversations c
      where c.project = ? and c.due_at <= ? and (c.due_at, c.conversation) > (?, ?) and ${hasHead}
      order by c.due_at, c.conversation limit ?`),
  }

  function candidates(project: string, now: number, limit: number) {
    const projectRow = heads.projectRow(project)
    const rows = projectRow === undefined ? [] : (sql.expiring.all(projectRow, now, limit) as Array<[string, number]>)
    const due: SessionHead[] = []
    const used: Array<{ id: string; expiresAt: number }> = []
    let lost = 0
    for (const [id, conversationRow] of rows) {
      const head = heads.session(project, id)?.head
      if (!head) {
        lost++
        continue
      }
      const expiresAt = expiryOf(head, heads.lastActiveAt(conversationRow, head, viewerOf(head)))
      if (expiresAt === undefined || expiresAt > now) used.push({ id, expiresAt: expiresAt ?? Number.MAX_SAFE_INTEGER })
      else due.push(head)
    }
    return { due, used, lost }
  }

  function headsOf(project: string, rows: ReadonlyArray<[row: number, id: string, ...unknown[]]>): ConversationHead[] {
    return rows.flatMap(([, id]) => heads.conversation(project, id)?.head ?? [])
  }

  return {
    /** Use since the row was written moves its expiry on; only those that are really due are given. */
    async expiring(project: string, now: number, limit: number): Promise<SessionHead[]> {
      for (let passedOver = 0; ; ) {
        const { due, used, lost } = await reading(() => candidates(project, now, limit + passedOver))
        if (used.length > 0) {
          await writing(() => {
            for (const { id, expiresAt } of used) {
              const entry = heads.session(project, id)
              if (entry) heads.postponeExpiry(entry, expiresAt)
            }
          })
        }
        if (due.length > 0 || (used.length === 0 && lost === passedOver)) return due.slice(0, limit)
        passedOver = lost
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
      const [upTo] = (sql.stretch.get(after) as [number] | undefined) ?? []
      const values = [projectRow, completed ? 1 : 0, createdBefore, inactiveSince, limit + 1, after]
      const rows = sql.archivable.all(...values, upTo ?? Number.MAX_SAFE_INTEGER) as Array<[number, string]>
      const next = rows.length > limit ? rows[limit - 1]![0] : upTo
      return {
        items: headsOf(project, rows.slice(0, limit)),
        ...(next !== undefined && { next: String(next) }),
      }
    },

    due(project: string, now: number, { limit, cursor }: { limit: number; cursor?: string }): Listed<ConversationHead> {
      const projectRow = heads.projectRow(project)
      if (projectRow === undefined) return { items: [] }
      const [dueAt = 0, row = 0] = cursor === undefined ? [] : numbersIn(cursor, 2)
      const rows = sql.due.all(projectRow, now, dueAt, row, limit + 1) as Array<[number, string, number]>
      const last = rows[limit - 1]
      return {
        items: headsOf(project, rows.slice(0, limit)),
        ...(rows.length > limit && last && { next: `${last[2]}.${last[0]}` }),
      }
    },
  }
}
