/** Finding conversations and sessions, a page at a time. */

import { numbersIn } from '../../../log/cursor.ts'
import type { ConversationQuery, DamagedConversation, Listed, SessionQuery, WorkQuery } from '../../../log/directory.ts'
import { maximumIdBytes } from '../../../log/events/id.ts'
import { workItemKey } from '../../../log/events/work-item.ts'
import { infoIn } from '../../../log/fold.ts'
import { isoTime } from '../../../log/time.ts'
import type { ConversationHead } from '../../../log/views/conversation.ts'
import type { SessionHead } from '../../../log/views/session.ts'
import { byUse } from '../../common/recency-page.ts'
import type { Database } from '../database.ts'
import type { HeadStore } from '../heads.ts'
import { preparedStatements } from '../prepared-statements.ts'
import { refolder } from '../refold.ts'
import type { Value } from '../statement.ts'
import { lastUse, newestPosition } from './event-queries.ts'

type ConversationRow = [
  conversation: number,
  /** What the list is ordered by, or the cursor of the row. */
  order: number | string,
  info: string,
  version: number,
  activeAt: number,
  id: string,
]

/** Looked through for a page of sessions before they are looked for by project: some 0.2 ms. */
const nearbySessions = 1000

export function directory({ database, heads }: { database: Database; heads: HeadStore }) {
  const refold = refolder(database)
  /** By their text: each mixture of filters is compiled once. */
  const statements = preparedStatements(database)
  const sql = {
    projects: database.prepare(
      `select id from projects where length(cast(id as blob)) <= ${maximumIdBytes} order by id`,
    ),
  }

  function pageOf(
    query: { project: string },
    rows: readonly ConversationRow[],
    limit: number,
    cursorOf: (last: ConversationRow) => string,
  ): Listed<ConversationHead> {
    const shown = rows.slice(0, limit)
    const last = shown.at(-1)
    const items: ConversationHead[] = []
    const damaged: DamagedConversation[] = []
    for (const [row, , text, version, activeAt, conversationId] of shown) {
      let isNamed = true
      const info = infoIn(text, () => {
        const folded = refold(row, { project: query.project, conversationId })
        isNamed = folded.isNamed
        return folded.info
      })
      if (isNamed) items.push({ info, version, activeAt: isoTime(activeAt) })
      else damaged.push({ conversationId, reason: 'neither its head nor the record of how it began can be read' })
    }
    return {
      items,
      ...(rows.length > limit && last && { next: cursorOf(last) }),
      ...(damaged.length > 0 && { damaged }),
    }
  }

  function workItems(query: WorkQuery): Listed<ConversationHead> {
    const project = heads.projectRow(query.project)
    if (project === undefined) return { items: [] }
    const limit = query.limit ?? 50
    const conditions = ['project = ?', 'work_type = ?']
    const values: Value[] = [project, query.type]
    if (query.featureId !== undefined) {
      conditions.push('work_feature = ?')
      values.push(query.featureId)
    }
    if (query.states) conditions.push(`work_state in (${marks(query.states, values)})`)
    else conditions.push('work_state is not null')
    if (query.status) conditions.push(`status in (${marks(query.status, values)})`)
    if (query.cursor) {
      conditions.push('(work_priority, created_at, conversation) > (?, ?, ?)')
      values.push(...numbersIn(query.cursor, 3))
    }
    const rows = statements
      .get(`
        select c.conversation, c.work_priority || '.' || c.created_at || '.' || c.conversation, c.info, e.version,
          ${lastUse('c.conversation')}, c.id
        from (
          select conversation, info, id, created_at, work_priority from conversations
          where ${conditions.join(' and ')} order by work_priority, created_at, conversation limit ?
        ) c join events e on e.position = ${newestPosition('c.conversation')}
        order by c.work_priority, c.created_at, c.conversation`)
      .all(...values, limit + 1) as ConversationRow[]
    return pageOf(query, rows, limit, ([, place]) => String(place))
  }

  function conversations(query: ConversationQuery): Listed<ConversationHead> {
    const project = heads.projectRow(query.project)
    if (project === undefined) return { items: [] }
    const limit = query.limit ?? 50
    const conditions = ['c.project = ?']
    const values: Value[] = [project]
    if (query.status) conditions.push(`c.status in (${marks(query.status, values)})`)
    if (query.type) {
      conditions.push('c.work_type = ?')
      values.push(query.type)
    }
    if (query.branchesOf !== undefined) {
      conditions.push(`json_valid(c.info) and json_extract(c.info, '$.branchOf.conversationId') = ?`)
      values.push(query.branchesOf)
    }
    if (query.cursor) {
      const [recentAt, conversation] = numbersIn(query.cursor, 2)
      conditions.push('(c.recent_at, c.conversation) < (?, ?)')
      values.push(recentAt!, conversation!)
    }
    const rows = statements
      .get(`
        select c.conversation, c.recent_at, c.info, e.version, ${lastUse('c.conversation')}, c.id
        from conversations c join events e on e.position = ${newestPosition('c.conversation')}
        where ${conditions.join(' and ')} order by c.recent_at desc, c.conversation desc limit ?`)
      .all(...values, limit + 1) as ConversationRow[]
    const last = rows[limit - 1]
    const inOrder = [...byUse(rows.slice(0, limit)), ...rows.slice(limit)]
    return pageOf(query, inOrder, limit, () => `${last![1]}.${last![0]}`)
  }

  function sessions(query: SessionQuery): Listed<SessionHead> {
    const project = heads.projectRow(query.project)
    if (project === undefined) return { items: [] }
    const limit = query.limit ?? 50
    const conditions = ['s.project = ?']
    const values: Value[] = [project]
    if (query.conversationId !== undefined) {
      conditions.push('s.conversation = (select conversation from conversations where project = ? and id = ?)')
      values.push(project, query.conversationId)
    }
    if (query.workItem) {
      conditions.push('s.conversation = (select conversation from conversations where project = ? and work_key = ?)')
      values.push(project, workItemKey(query.workItem))
    }
    if (query.agentName !== undefined) {
      conditions.push('s.agent = ?')
      values.push(query.agentName)
    }
    const isWanted = query.status ? `s.status in (${marks(query.status, values)})` : `s.status <> 'deleted'`
    if (query.overdueAt === undefined) conditions.push(isWanted)
    else {
      conditions.push(`(${isWanted} or s.status = 'active' and s.expires_at <= ?)`)
      values.push(query.overdueAt)
    }
    const before = query.cursor ? numbersIn(query.cursor, 1)[0]! : Number.MAX_SAFE_INTEGER
    if (query.cursor) {
      conditions.push('s.session < ?')
      values.push(before)
    }
    const among = (sessions: string) => `
      select s.session, s.id from ${sessions} s where ${conditions.join(' and ')} order by s.session desc limit ?`
    const isOfOne = query.conversationId !== undefined || query.workItem !== undefined
    // As a rule they are among the newest of the store. By project they are in no order, and all would be sorted.
    const nearby = statements.get(
      among(`(select session, id, project, conversation, agent, status, expires_at from sessions where session < ?
        order by session desc limit ${nearbySessions})`),
    )
    let rows: Array<[number, string]> = []
    if (!isOfOne) rows = nearby.all(before, ...values, limit + 1) as typeof rows
    if (rows.length <= limit) rows = statements.get(among('sessions')).all(...values, limit + 1) as typeof rows
    const shown = rows.slice(0, limit)
    const last = shown.at(-1)
    return {
      items: shown.flatMap(([, id]) => heads.session(query.project, id)?.head ?? []),
      ...(rows.length > limit && last && { next: String(last[0]) }),
    }
  }

  return {
    conversations,
    workItems,
    sessions,
    projects: () => (sql.projects.all() as Array<[string]>).map(([id]) => id),
  }
}

function marks(list: readonly string[], values: Value[]): string {
  values.push(...list)
  return list.map(() => '?').join(', ')
}
