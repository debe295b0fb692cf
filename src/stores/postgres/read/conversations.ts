/** Finds conversations, one by one or a page at a time. */

import { numbersIn } from '../../../log/cursor.ts'
import type { ConversationQuery, Directory, Listed, WorkQuery } from '../../../log/directory.ts'
import { idProblem } from '../../../log/events/id.ts'
import type { WorkItem } from '../../../log/events/work-item.ts'
import { infoIn } from '../../../log/fold.ts'
import { isoTime } from '../../../log/time.ts'
import type { ConversationHead } from '../../../log/views/conversation.ts'
import { byUse } from '../../common/recency-page.ts'
import type { Database } from '../database.ts'
import { workHash } from '../heads.ts'
import type { Projects } from '../projects.ts'
import { refold } from '../refold.ts'

import { conditions } from './conditions.ts'

type ConversationRow = [
  conversation: number,
  /** The time that the list is ordered by, or the cursor of the row. */
  order: number | string,
  info: string,
  version: number,
  activeAt: number,
  id: string,
]

const conversationColumns = 'c.conversation, c.recent_at, c.info, c.version, c.active_at, c.id'

type ConversationDirectory = Pick<Directory, 'conversation' | 'conversationOf' | 'conversations' | 'workItems'>

export function conversationDirectory({
  database,
  projects,
}: {
  database: Database
  projects: Projects
}): ConversationDirectory {
  async function headIn(project: string, number: number, row: ConversationRow): Promise<ConversationHead> {
    const [conversation, , text, version, activeAt, conversationId] = row
    const info =
      infoIn(text, () => undefined) ??
      (await refold(database.read, number, conversation, { project, conversationId })).info
    return { info, version, activeAt: isoTime(activeAt) }
  }

  async function oneConversation(
    project: string,
    condition: string,
    value: string,
  ): Promise<ConversationHead | undefined> {
    const number = await projects.find(project)
    if (number === undefined || idProblem(value)) return undefined
    const [row] = await database.read<ConversationRow>(
      `select ${conversationColumns} from conversations c where c.project = $1 and ${condition} = $2`,
      [number, value],
    )
    return row && headIn(project, number, row)
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
      `select ${conversationColumns} from conversations c
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
      `select c.conversation, concat_ws('.', c.work_priority, c.created_at, c.conversation), c.info, c.version,
        c.active_at, c.id from conversations c
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

  return {
    conversation: (project, id) => oneConversation(project, 'c.id', id),
    conversationOf: (project, item: WorkItem) => oneConversation(project, 'c.work_key', workHash(item)),
    conversations,
    workItems,
  }
}
