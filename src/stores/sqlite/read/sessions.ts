/** Lists sessions a page at a time. */
import { numbersIn } from '../../../log/cursor.ts'
import type { Listed, SessionQuery } from '../../../log/directory.ts'
import { workItemKey } from '../../../log/events/work-item.ts'
import type { SessionHead } from '../../../log/views/session.ts'
import type { Database } from '../database.ts'
import type { HeadStore } from '../heads.ts'
import { preparedStatements } from '../prepared-statements.ts'
import { conditions, parameters } from './conditions.ts'

export function sessionLists({ database, heads }: { database: Database; heads: HeadStore }) {
  const statements = preparedStatements(database)

  return (query: SessionQuery): Listed<SessionHead> => {
    const project = heads.projectRow(query.project)
    if (project === undefined) return { items: [] }
    const { limit = 50, conversationId, workItem, agentName, status, overdueAt, cursor } = query
    const conversation = (column: string) =>
      `(select conversation from conversations where project = ? and ${column} = ?)`
    // The `+` makes a list of one conversation go by the index over conversations.
    const isOfOne = conversationId !== undefined || workItem !== undefined
    const { where, values } = conditions(isOfOne ? '+s.project = ?' : 's.project = ?', project)
    if (conversationId !== undefined) where(`s.conversation = ${conversation('id')}`, project, conversationId)
    if (workItem) where(`s.conversation = ${conversation('work_key')}`, project, workItemKey(workItem))
    if (agentName !== undefined) where('s.agent = ?', agentName)
    const hasStatus = status ? `s.status in ${parameters(status)}` : `s.status <> 'deleted'`
    if (overdueAt === undefined) where(hasStatus, ...(status ?? []))
    else where(`(${hasStatus} or s.status = 'active' and s.expires_at <= ?)`, ...(status ?? []), overdueAt)
    if (cursor) where('s.session < ?', ...numbersIn(cursor, 1))
    const rows = statements
      .get(`select s.session, s.id from sessions s where ${where()} order by s.session desc limit ?`)
      .all(...values, limit + 1) as Array<[number, string]>
    const shown = rows.slice(0, limit)
    return {
      items: shown.flatMap(([, id]) => heads.session(query.project, id)?.head ?? []),
      ...(rows.length > limit && { next: String(shown.at(-1)?.[0]) }),
    }
  }
}
