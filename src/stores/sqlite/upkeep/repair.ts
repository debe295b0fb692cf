/**
 * Folds every head anew from the log and writes those that differ. The log itself is only read.
 *
 * Most of a conversation is folded without a lock; what came meanwhile is folded under the write lock, in which the
 * heads are compared and written.
 */
import { setImmediate as breathe } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { audienceOfKey, isAudienceOf } from '../../../log/events/audience.ts'
import { workItemKey } from '../../../log/events/work-item.ts'
import { type HeadFold, headFold, parsedOr } from '../../../log/fold.ts'
import type { Progress, RepairedHead } from '../../../log/upkeep.ts'
import type { ConversationInfo } from '../../../log/views/conversation.ts'
import { changedAtMs, expiryOf, type SessionHead, sessionKey } from '../../../log/views/session.ts'
import type { Database } from '../database.ts'
import { isUnwritable } from '../errors.ts'
import { infoColumns } from '../heads.ts'
import { inVersionOrder } from '../read/event-queries.ts'
import { blobLoader, type EventRow, eventColumns, recordedEvent } from '../rows.ts'
import { inTransaction } from '../transaction.ts'
import { isMeant } from './checked.ts'

interface Place {
  row: number
  projectRow: number
  project: string
  conversationId: string
}

interface Folding {
  fold: HeadFold
  /** Version of the last event that was taken. */
  version: number | undefined
  /** The first version that was not looked at yet. */
  next: number
  /** The log itself is damaged: it says less than it once did. */
  isDamaged: boolean
}

const sliceSize = 500

export function repairer(database: Database) {
  const sql = {
    count: database.prepare(`
      select count(*) from events e join conversations c using (conversation) join projects p using (project)
      where ${isMeant}`),
    places: database.prepare(`
      select c.conversation, p.project, p.id, c.id from conversations c join projects p using (project)
      where ${isMeant} order by c.conversation`),
    events: database.prepare(inVersionOrder(eventColumns)),
    newest: database.prepare('select version from events where conversation = ? order by version desc limit 1'),
    first: database.prepare(`
      select version from events where conversation = ? and lane is null order by version limit 1`),
    conversation: database.prepare('select info, status, work_key from conversations where conversation = ?'),
    saveInfo: database.prepare(
      `update conversations set status = ?, info = ?, due_at = ?, work_state = ?, work_priority = ?, work_type = ?,
        work_feature = ? where conversation = ?`,
    ),
    // Another conversation may have come to be about the same; then that one keeps the key.
    saveWork: database.prepare('update or ignore conversations set work_key = ? where conversation = ?'),
    sessions: database.prepare(
      'select session, id, status, head, session_key, project from sessions where conversation = ?',
    ),
    // One active session of a key: of two the older gives way, as in the log.
    saveSession: database.prepare(
      'update or ignore sessions set session_key = ?, agent = ?, status = ?, expires_at = ?, head = ?, project = ? where session = ?',
    ),
    addSession: database.prepare(`
      insert or ignore into sessions (project, id, conversation, session_key, agent, status, expires_at, head)
      values (?, ?, ?, ?, ?, ?, ?, ?)`),
    dropSession: database.prepare('delete from sessions where session = ?'),
    lanes: database.prepare('select lane, audience_key, audience from lanes where conversation = ?'),
    saveLane: database.prepare('update lanes set audience = ? where lane = ?'),
  }
  const blobs = blobLoader(database)

  return async ({ project, onProgress }: { project?: string; onProgress: Progress }): Promise<RepairedHead[]> => {
    const [total] = sql.count.get(project ?? null) as [number]
    const repaired: RepairedHead[] = []
    let done = 0
    for (const found of sql.places.all(project ?? null) as Array<[number, number, string, string]>) {
      const [row, projectRow, projectId, conversationId] = found
      const place = { row, projectRow, project: projectId, conversationId }
      try {
        const folding = beginning(place)
        for (const newest = newestIn(place); folding.next <= newest; ) {
          done += takeSlice(place, folding)
          onProgress(done, total)
          await breathe()
        }
        repaired.push(...inTransaction(database, () => writeHeads(place, folding)))
      } catch (error) {
        if (isUnwritable(error)) throw error
        // Part of the file cannot be read. `verify` says which, and the others are put right all the same.
      }
    }
    return repaired
  }

  /** A branch begins behind what it shares with its parent. */
  function beginning(place: Place): Folding {
    const first = sql.first.get(place.row) as [number] | undefined
    return { fold: headFold(place), version: undefined, next: first?.[0] ?? 1, isDamaged: false }
  }

  function newestIn({ row }: Place): number {
    return (sql.newest.get(row) as [number] | undefined)?.[0] ?? 0
  }

  function takeSlice({ row, projectRow, project, conversationId }: Place, folding: Folding): number {
    const rows = sql.events.all(row, folding.next, folding.next + sliceSize - 1) as EventRow[]
    for (const one of rows) {
      const recorded = recordedEvent(one, { project, conversationId, epoch: '' }, blobs(projectRow))
      const isNext = folding.version === undefined || recorded.version === folding.version + 1
      if (recorded.event.type === 'damaged' || !isNext) folding.isDamaged = true
      folding.fold.take(recorded)
      folding.version = recorded.version
    }
    folding.next += sliceSize
    return rows.length
  }

  function writeHeads(place: Place, folding: Folding): RepairedHead[] {
    // What came meanwhile. The last slice may have been looked at before it was full.
    folding.next = (folding.version ?? folding.next - 1) + 1
    for (const newest = newestIn(place); folding.next <= newest; ) takeSlice(place, folding)
    const { info, sessions, isNamed } = folding.fold.heads()
    // A log that does not say what it is about gives no better head than a damaged one.
    const repaired = isNamed ? writeInfo(place, info, folding.isDamaged) : []
    return [...repaired, ...writeSessions(place, sessions, folding.isDamaged), ...writeLanes(place)]
  }

  function writeLanes({ row, project, conversationId }: Place): RepairedHead[] {
    const repaired: RepairedHead[] = []
    for (const [lane, key, text] of sql.lanes.all(row) as Array<[number, string, string]>) {
      const audience = audienceOfKey(key)
      if (!audience || isAudienceOf(text, key)) continue
      sql.saveLane.run(JSON.stringify(audience), lane)
      repaired.push({ project, conversationId, what: `a lane did not say that it is for ${key}` })
    }
    return repaired
  }

  function writeInfo({ row, project, conversationId }: Place, info: ConversationInfo, isDamaged: boolean) {
    const found = sql.conversation.get(row) as [string, string, string] | undefined
    // Purged since the list was made.
    if (!found) return []
    const [text, status, workKey] = found
    const other = status !== info.status ? 'status' : workKey !== workItemKey(info.workItem) ? 'work item' : undefined
    const what =
      differs(text, info, isDamaged) ?? (other && !isDamaged ? `its ${other} was another than its log says` : undefined)
    if (what === undefined) return []
    const feature = 'featureId' in info.workItem ? info.workItem.featureId : null
    sql.saveInfo.run(...infoColumns(info), info.workItem.type, feature, row)
    sql.saveWork.run(workItemKey(info.workItem), row)
    return [{ project, conversationId, what }]
  }

  function writeSessions(place: Place, folded: ReadonlyMap<string, SessionHead>, isDamaged: boolean): RepairedHead[] {
    const { row, projectRow, project, conversationId } = place
    const repaired: RepairedHead[] = []
    const report = (sessionId: string, what: string) => repaired.push({ project, conversationId, sessionId, what })
    const stored = sql.sessions.all(row) as Array<[number, string, string, string, string, number]>
    const known = new Set(stored.map(([, id]) => id))
    for (const [sessionRow, id, status, text, key, owner] of stored) {
      const head = folded.get(id)
      if (!head) {
        if (isDamaged) continue
        sql.dropSession.run(sessionRow)
        report(id, 'the log knows no such session')
        continue
      }
      const isFound = key === sessionKey(head) && owner === projectRow
      const other =
        status !== head.status ? 'its status was another' : isFound ? undefined : 'it was not found by its key'
      const what = differs(text, head, isDamaged) ?? other
      if (what === undefined) continue
      sql.saveSession.run(...columnsOf(head), projectRow, sessionRow)
      report(id, what)
    }
    for (const [id, head] of folded) {
      if (known.has(id)) continue
      sql.addSession.run(projectRow, id, row, ...columnsOf(head))
      report(id, 'it was missing')
    }
    return repaired
  }
}

/** What is wrong with a stored head, if anything; beside a damaged log, only that it cannot be read. */
function differs(text: string, folded: object, isDamaged: boolean): string | undefined {
  const stored = parsedOr<object | undefined>(text, () => undefined)
  if (stored === undefined) return 'it could not be read'
  if (isDamaged || isDeepStrictEqual(stored, JSON.parse(JSON.stringify(folded)))) return undefined
  return 'it differed from what its log says'
}

function columnsOf(head: SessionHead): [string, string, string, number | null, string] {
  const expiresAt = expiryOf(head, changedAtMs(head)) ?? null
  return [sessionKey(head), head.agentName, head.status, expiresAt, JSON.stringify(head)]
}
