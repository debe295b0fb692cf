/** Finds sessions, one by one or a page at a time. */

import { numbersIn } from '../../../log/cursor.ts'
import type { Directory, Listed, SessionQuery } from '../../../log/directory.ts'
import { idProblem } from '../../../log/events/id.ts'
import { sessionHeadIn } from '../../../log/fold.ts'
import type { SessionHead } from '../../../log/views/session.ts'
import type { Database } from '../database.ts'
import { hashed, workHash } from '../heads.ts'
import type { Projects } from '../projects.ts'
import { refold } from '../refold.ts'

import { conditions } from './conditions.ts'

type SessionRow = [session: number, id: string, head: string, conversation: number]

const sessionColumns = 's.session, s.id, s.head, s.conversation'

type SessionDirectory = Pick<Directory, 'session' | 'sessionByKey' | 'sessions'>

export function sessionDirectory({ database, projects }: { database: Database; projects: Projects }): SessionDirectory {
  async function sessionIn(project: string, number: number, row: SessionRow): Promise<SessionHead | undefined> {
    const [, id, text, conversation] = row
    const head = sessionHeadIn(text, () => undefined)
    if (head) return head
    const [named] = await database.read<[string]>(
      'select id from conversations where project = $1 and conversation = $2',
      [number, conversation],
    )
    const place = { project, conversationId: named?.[0] ?? '' }
    return (await refold(database.read, number, conversation, place)).sessions.get(id)
  }

  async function oneSession(project: string, condition: string, value: string): Promise<SessionHead | undefined> {
    const number = await projects.find(project)
    if (number === undefined || idProblem(value)) return undefined
    const [row] = await database.read<SessionRow>(
      `select ${sessionColumns} from sessions s where s.project = $1 and ${condition} = $2`,
      [number, value],
    )
    return row && sessionIn(project, number, row)
  }

  async function sessions(query: SessionQuery): Promise<Listed<SessionHead>> {
    const number = await projects.find(query.project)
    if (number === undefined) return { items: [] }
    const named = [query.conversationId, query.agentName]
    if (named.some(name => name !== undefined && idProblem(name))) return { items: [] }
    const { limit = 50 } = query
    const { where, values } = conditions('s.project', number)
    if (query.conversationId !== undefined) where('c.id = ?', query.conversationId)
    if (query.workItem) where('c.work_key = ?', workHash(query.workItem))
    if (query.agentName !== undefined) where('s.agent = ?', query.agentName)
    const wanted = query.status ? 's.status = any(?::text[])' : 's.status <> ?'
    if (query.overdueAt === undefined) where(wanted, query.status ?? 'deleted')
    else where(`(${wanted} or s.status = 'active' and s.expires_at <= ?)`, query.status ?? 'deleted', query.overdueAt)
    if (query.cursor) where('s.session < ?', ...numbersIn(query.cursor, 1))
    const rows = await database.read<SessionRow>(
      `select ${sessionColumns} from sessions s join conversations c using (project, conversation)
      where ${where()} order by s.session desc limit $${values.length + 1}`,
      [...values, limit + 1],
    )
    const shown = rows.slice(0, limit)
    const last = shown.at(-1)
    const heads = await Promise.all(shown.map(row => sessionIn(query.project, number, row)))
    return {
      items: heads.filter(head => head !== undefined),
      ...(rows.length > limit && last && { next: String(last[0]) }),
    }
  }

  return {
    session: (project, id) => oneSession(project, 's.id', id),
    sessionByKey: (project, key) => oneSession(project, `s.status = 'active' and s.session_key`, hashed(key)),
    sessions,
  }
}
