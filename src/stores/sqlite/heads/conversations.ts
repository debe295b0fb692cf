/** Heads of conversations. */
import type { BranchPoint } from '../../../log/events/conversation.ts'
import { idProblem } from '../../../log/events/id.ts'
import { type WorkItem, workItemKey } from '../../../log/events/work-item.ts'
import { infoIn } from '../../../log/fold.ts'
import { isoTime } from '../../../log/time.ts'
import type { ConversationHead, ConversationInfo } from '../../../log/views/conversation.ts'
import { stateDueAt } from '../../../log/views/conversation-state.ts'
import type { Database } from '../database.ts'
import { lastUse, newestPosition } from '../read/event-queries.ts'
import { refolder } from '../refold.ts'
import { frozen } from './frozen.ts'
import { type ConversationEntry, type HeadCache, keyOf } from './head-cache.ts'
import type { projectRows } from './projects.ts'

type ConversationRow = [row: number, recentAt: number, info: string, version: number, hash: Uint8Array, usedAt: number]

const minute = 60_000

export function conversationHeads(
  database: Database,
  cache: HeadCache,
  { projectRow, ensureProject }: ReturnType<typeof projectRows>,
) {
  const sql = {
    byId: database.prepare(`
      select c.conversation, c.recent_at, c.info, e.version, e.hash, ${lastUse('c.conversation')}
      from conversations c join events e on e.position = ${newestPosition('c.conversation')}
      where c.project = ? and c.id = ?`),
    byWork: database.prepare('select id from conversations where project = ? and work_key = ?'),
    hashAt: database.prepare('select hash from events where conversation = ? and version = ?'),
    branch: database.prepare(`
      select id from conversations where project = ? and json_valid(info)
        and json_extract(info, '$.branchOf.conversationId') = ? limit 1`),
    insert: database.prepare(`
      insert into conversations (project, id, work_key, work_type, work_feature, created_at, recent_at,
        status, info, due_at, work_state, work_priority)
      values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`),
    updateInfo: database.prepare(`
      update conversations set status = ?, info = ?, due_at = ?, work_state = ?, work_priority = ?
      where conversation = ?`),
    updateRecency: database.prepare('update conversations set recent_at = ? where conversation = ?'),
  }
  const refold = refolder(database)

  function conversation(project: string, id: string): ConversationEntry | undefined {
    const key = keyOf(project, id)
    const cached = cache.conversations.get(key)
    if (cached) return cached
    const projectNumber = projectRow(project)
    if (projectNumber === undefined || idProblem(id)) return undefined
    const stored = sql.byId.get(projectNumber, id) as ConversationRow | undefined
    if (!stored) return undefined
    const [row, recentAt, text, version, hash, usedAt] = stored
    const info = frozen(infoIn(text, () => refold(row, { project, conversationId: id }).info))
    const head = { info, version, activeAt: isoTime(usedAt) }
    const entry: ConversationEntry = { row, recentAt, hash, head, lanes: new Map() }
    cache.conversations.set(key, entry)
    return entry
  }

  function conversationOf(project: string, workItem: WorkItem): ConversationEntry | undefined {
    const projectNumber = projectRow(project)
    if (projectNumber === undefined) return undefined
    const [id] = (sql.byWork.get(projectNumber, workItemKey(workItem)) as [string] | undefined) ?? []
    return id === undefined ? undefined : conversation(project, id)
  }

  function createConversation(head: ConversationHead, hash: Uint8Array, now: number): ConversationEntry {
    const info = frozen(head.info)
    const { workItem } = info
    const recentAt = minuteOf(now)
    const { lastInsertRowid } = sql.insert.run(
      ensureProject(info.project, now),
      info.id,
      workItemKey(workItem),
      workItem.type,
      'featureId' in workItem ? workItem.featureId : null,
      now,
      recentAt,
      ...infoColumns(info),
    )
    const entry: ConversationEntry = { row: Number(lastInsertRowid), recentAt, hash, head, lanes: new Map() }
    cache.conversations.set(keyOf(info.project, info.id), entry)
    return entry
  }

  function saveConversation(entry: ConversationEntry, head: ConversationHead, hash: Uint8Array, now: number): void {
    if (head.info !== entry.head.info) sql.updateInfo.run(...infoColumns(frozen(head.info)), entry.row)
    const recentAt = minuteOf(now)
    const isUse = head.activeAt !== entry.head.activeAt
    if (isUse && recentAt > entry.recentAt) {
      sql.updateRecency.run(recentAt, entry.row)
      entry.recentAt = recentAt
    }
    entry.head = head
    entry.hash = hash
  }

  return {
    conversation,
    conversationRow: (project: string, id: string) => conversation(project, id)?.row,
    conversationOf,
    createConversation,
    saveConversation,
    /** The hash of an event, for a branch that starts there. */
    hashAt(project: string, { conversationId, version }: BranchPoint): Uint8Array | undefined {
      const row = conversation(project, conversationId)?.row
      return row === undefined ? undefined : (sql.hashAt.get(row, version) as [Uint8Array] | undefined)?.[0]
    },
    /** A conversation that branches off this one, if there is any. */
    branchOf(project: string, id: string): string | undefined {
      return (sql.branch.get(projectRow(project) ?? 0, id) as [string] | undefined)?.[0]
    },
  }
}

/** The columns that say what a head says: status, info, due_at, work_state, work_priority. */
export function infoColumns(info: ConversationInfo): [string, string, number | null, string | null, number | null] {
  const { work, status } = info
  const priority = work && ('priority' in work ? work.priority : 0)
  return [status, JSON.stringify(info), stateDueAt(info) ?? null, work?.state ?? null, priority ?? null]
}

function minuteOf(at: number): number {
  return at - (at % minute)
}
