/** Lists heads by the time at which they are due. A head that cannot be read is passed over; verify names it. */
import { numbersIn } from '../../../log/cursor.ts'
import type { Directory, Listed } from '../../../log/directory.ts'
import type { HeadLists } from '../../common/query-dispatch.ts'
import type { Database } from '../database.ts'
import type { Projects } from '../projects.ts'

const sql = {
  conversations: `
    select id, due_at, conversation from conversations
    where project = $1 and due_at <= $2 and (due_at, conversation) > ($3, $4)
    order by due_at, conversation limit $5`,
  sessions: `
    select id, expires_at, session from sessions
    where project = $1 and status = 'active' and expires_at <= $2 and (expires_at, session) > ($3, $4)
    order by expires_at, session limit $5`,
}

export function dueHeads({
  database,
  projects,
  heads: { conversation, session },
}: {
  database: Database
  projects: Projects
  heads: Pick<Directory, 'conversation' | 'session'>
}): Pick<HeadLists, 'due' | 'expired'> {
  async function list<Head>(
    query: { of: keyof typeof sql; project: string; at: number; limit: number; cursor?: string | undefined },
    headOf: (project: string, id: string) => Promise<Head | undefined>,
  ): Promise<Listed<Head>> {
    const { of, project, at, limit, cursor } = query
    const number = await projects.find(project)
    if (number === undefined) return { items: [] }
    const [after = 0, last = 0] = cursor === undefined ? [] : numbersIn(cursor, 2)
    const values = [number, at, after, last, limit + 1]
    const rows = await database.read<[id: string, at: number, row: number]>(sql[of], values)
    const lastShown = rows[limit - 1]
    const heads = await Promise.all(rows.slice(0, limit).map(([id]) => headOf(project, id)))
    return {
      items: heads.filter(head => head !== undefined),
      ...(rows.length > limit && lastShown && { next: `${lastShown[1]}.${lastShown[2]}` }),
    }
  }

  return {
    due: (project, at, page) => list({ of: 'conversations', project, at, ...page }, conversation),
    expired: (project, at, page) => list({ of: 'sessions', project, at, ...page }, session),
  }
}
