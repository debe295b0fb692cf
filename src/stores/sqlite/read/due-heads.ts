/** Lists heads by the time at which they are due. A head that cannot be read is passed over; verify names it. */
import { numbersIn } from '../../../log/cursor.ts'
import type { Listed } from '../../../log/directory.ts'
import type { HeadLists, PageOf } from '../../common/query-dispatch.ts'
import type { Access } from '../access.ts'
import type { Database } from '../database.ts'
import type { HeadStore } from '../heads.ts'
import type { Statement } from '../statement.ts'

/** A head is read with the newest event. */
const hasHead = 'exists (select 1 from events e where e.conversation = c.conversation)'

export function dueHeads({
  database,
  heads,
  reading,
}: { database: Database; heads: HeadStore } & Pick<Access, 'reading'>): Pick<HeadLists, 'due' | 'expired'> {
  const sql = {
    conversations: database.prepare(`
      select c.id, c.due_at, c.conversation from conversations c
      where c.project = ? and c.due_at <= ? and (c.due_at, c.conversation) > (?, ?) and ${hasHead}
      order by c.due_at, c.conversation limit ?`),
    sessions: database.prepare(`
      select id, expires_at, session from sessions
      where project = ? and status = 'active' and expires_at <= ? and (expires_at, session) > (?, ?)
      order by expires_at, session limit ?`),
  }

  function list<Head>(
    statement: Statement,
    { project, at, limit, cursor }: PageOf & { project: string; at: number },
    headOf: (id: string) => { head: Head } | undefined,
  ): Listed<Head> {
    const row = heads.projectRow(project)
    if (row === undefined) return { items: [] }
    const [after = 0, last = 0] = cursor === undefined ? [] : numbersIn(cursor, 2)
    const rows = statement.all(row, at, after, last, limit + 1) as Array<[id: string, at: number, row: number]>
    const lastShown = rows[limit - 1]
    return {
      items: rows.slice(0, limit).flatMap(([id]) => headOf(id)?.head ?? []),
      ...(rows.length > limit && lastShown && { next: `${lastShown[1]}.${lastShown[2]}` }),
    }
  }

  return {
    due: (project, at, page) =>
      reading(() => list(sql.conversations, { project, at, ...page }, id => heads.conversation(project, id))),
    expired: (project, at, page) =>
      reading(() => list(sql.sessions, { project, at, ...page }, id => heads.session(project, id))),
  }
}
