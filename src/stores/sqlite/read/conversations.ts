/** Lists conversations a page at a time. */
import { numbersIn } from '../../../log/cursor.ts'
import type { ConversationQuery, DamagedConversation, Listed, WorkQuery } from '../../../log/directory.ts'
import { infoIn } from '../../../log/fold.ts'
import { isoTime } from '../../../log/time.ts'
import type { ConversationHead } from '../../../log/views/conversation.ts'
import { byUse } from '../../common/recency-page.ts'
import type { Database } from '../database.ts'
import type { HeadStore } from '../heads.ts'
import { preparedStatements } from '../prepared-statements.ts'
import { refolder } from '../refold.ts'
import { conditions, parameters } from './conditions.ts'
import { lastUse, newestPosition } from './event-queries.ts'

type ConversationRow = [
  conversation: number,
  /** The time that the list is ordered by, or the cursor of the row. */
  order: number | string,
  info: string,
  version: number,
  activeAt: number,
  id: string,
]

export function conversationLists({ database, heads }: { database: Database; heads: HeadStore }) {
  const refold = refolder(database)
  const statements = preparedStatements(database)
  const newestEvent = `join events e on e.position = ${newestPosition('c.conversation')}`

  /** The heads of rows. A row is damaged when neither its head nor its log says what it is about. */
  function headsIn(
    project: string,
    rows: readonly ConversationRow[],
  ): { items: ConversationHead[]; damaged: DamagedConversation[] } {
    const items: ConversationHead[] = []
    const damaged: DamagedConversation[] = []
    for (const [row, , text, version, activeAt, conversationId] of rows) {
      let isNamed = true
      const info = infoIn(text, () => {
        const folded = refold(row, { project, conversationId })
        isNamed = folded.isNamed
        return folded.info
      })
      if (isNamed) items.push({ info, version, activeAt: isoTime(activeAt) })
      else damaged.push({ conversationId, reason: 'neither its head nor the record of how it began can be read' })
    }
    return { items, damaged }
  }

  function listed(
    project: string,
    rows: readonly ConversationRow[],
    next: string | undefined,
  ): Listed<ConversationHead> {
    const { items, damaged } = headsIn(project, rows)
    return { items, ...(next !== undefined && { next }), ...(damaged.length > 0 && { damaged }) }
  }

  function workItems(query: WorkQuery): Listed<ConversationHead> {
    const project = heads.projectRow(query.project)
    if (project === undefined) return { items: [] }
    const { limit = 50, type, featureId, states, status, cursor } = query
    const { where, values } = conditions('project = ? and work_type = ?', project, type)
    if (featureId !== undefined) where('work_feature = ?', featureId)
    if (states) where(`work_state in ${parameters(states)}`, ...states)
    else where('work_state is not null')
    if (status) where(`status in ${parameters(status)}`, ...status)
    if (cursor) where('(work_priority, created_at, conversation) > (?, ?, ?)', ...numbersIn(cursor, 3))
    const rows = statements
      .get(`
        select c.conversation, c.work_priority || '.' || c.created_at || '.' || c.conversation, c.info, e.version,
          ${lastUse('c.conversation')}, c.id
        from (
          select conversation, info, id, created_at, work_priority from conversations
          where ${where()} order by work_priority, created_at, conversation limit ?
        ) c ${newestEvent}
        order by c.work_priority, c.created_at, c.conversation`)
      .all(...values, limit + 1) as ConversationRow[]
    const shown = rows.slice(0, limit)
    return listed(query.project, shown, rows.length > limit ? String(shown.at(-1)?.[1]) : undefined)
  }

  function conversations(query: ConversationQuery): Listed<ConversationHead> {
    const project = heads.projectRow(query.project)
    if (project === undefined) return { items: [] }
    const { limit = 50, status, type, branchesOf, cursor } = query
    const { where, values } = conditions('c.project = ?', project)
    if (status) where(`c.status in ${parameters(status)}`, ...status)
    if (type) where('c.work_type = ?', type)
    if (branchesOf !== undefined) {
      where(`json_valid(c.info) and json_extract(c.info, '$.branchOf.conversationId') = ?`, branchesOf)
    }
    if (cursor) where('(c.recent_at, c.conversation) < (?, ?)', ...numbersIn(cursor, 2))
    const rows = statements
      .get(`
        select c.conversation, c.recent_at, c.info, e.version, ${lastUse('c.conversation')}, c.id
        from conversations c ${newestEvent}
        where ${where()} order by c.recent_at desc, c.conversation desc limit ?`)
      .all(...values, limit + 1) as ConversationRow[]
    const shown = rows.slice(0, limit)
    const last = shown.at(-1)
    return listed(query.project, byUse(shown), rows.length > limit && last ? `${last[1]}.${last[0]}` : undefined)
  }

  return { conversations, workItems }
}
