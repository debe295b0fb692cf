/** Finding conversations and sessions, one by one or a page at a time. */

import { numbersIn } from '../../log/cursor.ts'
import type {
  ConversationQuery,
  Directory,
  Listed,
  ProjectTotals,
  SessionQuery,
  WorkQuery,
} from '../../log/directory.ts'
import { idProblem, maximumIdBytes } from '../../log/events/id.ts'
import type { WorkItem } from '../../log/events/work-item.ts'
import { infoIn, sessionHeadIn } from '../../log/fold.ts'
import { isoTime } from '../../log/time.ts'
import type { ConversationHead } from '../../log/views/conversation.ts'
import type { SessionHead } from '../../log/views/session.ts'
import { byUse } from '../common/recency-page.ts'
import type { Database } from './database.ts'
import { hashed, workHash } from './heads.ts'
import type { Projects } from './projects.ts'
import { refold } from './refold.ts'
import type { Value } from './value.ts'

type ConversationRow = [
  conversation: number,
  /** What the list is ordered by, or the cursor of the row. */
  order: number | string,
  info: string,
  version: number,
  activeAt: number,
  id: string,
]

const conversationColumns = 'c.conversation, c.recent_at, c.info, z.version, z.active_at, c.id'
const conversationTables = 'conversations c join ends z using (project, conversation)'

type SessionRow = [session: number, id: string, head: string, conversation: number]

const sessionColumns = 's.session, s.id, s.head, s.conversation'

export function directory({ database, projects }: { database: Database; projects: Projects }): Directory {
  async function headIn(project: string, number: number, row: ConversationRow): Promise<ConversationHead> {
    const [conversation, , text, version, activeAt, conversationId] = row
    const info =
      infoIn(text, () => undefined) ??
      (await refold(database.read, number, conversation, { project, conversationId })).info
    return { info, version, activeAt: isoTime(activeAt) }
  }

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

  async function oneConversation(
    project: string,
    condition: string,
    value: string,
  ): Promise<ConversationHead | undefined> {
    const number = await projects.find(project)
    if (number === undefined || idProblem(value)) return undefined
    const [row] = await database.look<ConversationRow>(
      `select ${conversationColumns} from ${conversationTables} where c.project = $1 and ${condition} = $2`,
      [number, value],
    )
    return row && headIn(project, number, row)
  }

  async function oneSession(project: string, condition: string, value: string): Promise<SessionHead | undefined> {
    const number = await projects.find(project)
    if (number === undefined || idProblem(value)) return undefined
    const [row] = await database.look<SessionRow>(
      `select ${sessionColumns} from sessions s where s.project = $1 and ${condition} = $2`,
      [number, value],
    )
    return row && sessionIn(project, number, row)
  }

  async function conversations(query: ConversationQuery): Promise<Listed<ConversationHead>> {
    const number = await projects.find(query.project)
    if (number === undefined || (query.branchesOf !== undefined && idProblem(query.branchesOf))) return { items: [] }
    const { limit = 50 } = query
    const { where, values } = conditions('c.project', number)
    if (query.status) where('c.status = any(?::text[])', query.status)
    if (query.type) where('c.work_type = ?', query.type)
    if (query.branchesOf !== undefined) {
      where('c.branch_of = (select conversation from conversations where project = $1 and id = ?)', query.branchesOf)
    }
    if (query.cursor) where('(c.recent_at, c.conversation) < (?, ?)', ...numbersIn(query.cursor, 2))
    const rows = await database.read<ConversationRow>(
      `select ${conversationColumns} from ${conversationTables}
      where ${where()} order by c.recent_at desc, c.conversation desc limit $${values.length + 1}`,
      [...values, limit + 1],
    )
    const shown = rows.slice(0, limit)
    const last = shown.at(-1)
    return {
      items: await Promise.all(byUse(shown).map(row => headIn(query.project, number, row))),
      ...(rows.length > limit && last && { next: `${last[1]}.${last[0]}` }),
    }
  }

  async function workItems(query: WorkQuery): Promise<Listed<ConversationHead>> {
    const number = await projects.find(query.project)
    if (number === undefined || (query.featureId !== undefined && idProblem(query.featureId))) return { items: [] }
    const { limit = 50 } = query
    const { where, values } = conditions('c.project', number)
    where('c.work_type = ?', query.type)
    if (query.featureId !== undefined) where('c.work_feature = ?', query.featureId)
    if (query.states) where('c.work_state = any(?::text[])', query.states)
    else where('c.work_state is not null')
    if (query.status) where('c.status = any(?::text[])', query.status)
    if (query.cursor)
      where('(c.work_priority, c.created_at, c.conversation) > (?, ?, ?)', ...numbersIn(query.cursor, 3))
    const rows = await database.read<ConversationRow>(
      `select c.conversation, concat_ws('.', c.work_priority, c.created_at, c.conversation), c.info, z.version,
        z.active_at, c.id from ${conversationTables}
      where ${where()} order by c.work_priority, c.created_at, c.conversation limit $${values.length + 1}`,
      [...values, limit + 1],
    )
    const shown = rows.slice(0, limit)
    const last = shown.at(-1)
    return {
      items: await Promise.all(shown.map(row => headIn(query.project, number, row))),
      ...(rows.length > limit && last && { next: String(last[1]) }),
    }
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
    const rows = await database.look<SessionRow>(
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

  async function totals(project: string): Promise<ProjectTotals> {
    const number = await projects.find(project)
    if (number === undefined) {
      return { conversations: 0, sessions: 0, events: 0, compactions: 0, messages: 0, tokens: 0, input: 0, output: 0 }
    }
    const [row] = await database.read<[number, number, number, number, number, number, number, number]>(
      `select c.conversations, s.sessions, c.events, s.compactions, l.messages, l.tokens, l.input, l.output
      from (select count(*) as conversations, coalesce(sum(z.version - coalesce(c.branch_version, 0)), 0)::bigint as events
          from ${conversationTables} where c.project = $1) c,
        (select count(*) filter (where status <> 'deleted') as sessions,
            coalesce(sum(compactions), 0)::bigint as compactions
          from sessions where project = $1) s,
        (select coalesce(sum(e.messages), 0)::bigint as messages, coalesce(sum(e.tokens), 0)::bigint as tokens,
            coalesce(sum(e.input), 0)::bigint as input, coalesce(sum(e.output), 0)::bigint as output
          from lanes l cross join lateral (
            select messages, tokens, input, output from events
            where project = l.project and conversation = l.conversation and lane = l.lane
            order by version desc limit 1) e
          where l.project = $1) l`,
      [number],
    )
    const [conversationCount, sessionCount, events, compactions, messages, tokens, input, output] = row!
    return {
      conversations: conversationCount,
      sessions: sessionCount,
      events,
      compactions,
      messages,
      tokens,
      input,
      output,
    }
  }

  return {
    conversation: (project, id) => oneConversation(project, 'c.id', id),
    conversationOf: (project, item: WorkItem) => oneConversation(project, 'c.work_key', workHash(item)),
    conversations,
    workItems,
    session: (project, id) => oneSession(project, 's.id', id),
    sessionByKey: (project, key) => oneSession(project, `s.status = 'active' and s.session_key`, hashed(key)),
    sessions,
    async projects() {
      const rows = await database.read<[string]>(
        `select id from projects where octet_length(id) <= ${maximumIdBytes} order by id`,
      )
      return rows.map(([id]) => id)
    },
    totals,
  }
}

/** Conditions that grow with what is asked for; each `?` becomes the next parameter. */
export function conditions(column: string, first: Value) {
  const values: Value[] = [first]
  const parts = [`${column} = $1`]
  function where(condition?: string, ...given: Value[]): string {
    if (condition !== undefined) {
      let index = values.length
      parts.push(condition.replaceAll('?', () => `$${++index}`))
      values.push(...given)
    }
    return parts.join(' and ')
  }
  return { where, values }
}
