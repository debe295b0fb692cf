/**
 * Folds every head from the log and writes those that differ, then has the index built again. The log itself is only
 * read.
 *
 * Most of a conversation is folded without its lock. The events that were appended meanwhile are folded under the lock,
 * and the heads are compared and written there.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { StoreBusy, StoreFull, StoreReadOnly } from '../../errors.ts'
import { audienceOfKey, isAudienceOf } from '../events/audience.ts'
import { type HeadFold, headFold, parsedOr } from '../fold.ts'
import type { ConversationPlace, ConversationRow, RowChanges, RowStore, Rows } from '../rows.ts'
import { isoTime } from '../time.ts'
import type { Progress, RepairedHead, RepairReport } from '../upkeep.ts'
import type { ConversationInfo } from '../views/conversation.ts'
import { changedAtMs, type SessionHead } from '../views/session.ts'
import { pageRows, recordedOf } from './event-rows.ts'
import { placesOf } from './verify.ts'

interface Folding {
  fold: HeadFold
  version: number
  newest: { version: number; hash: Uint8Array; activeAt: number } | undefined
  /** True if the log itself is damaged. A stored head may then know more than the log, so a readable one stays. */
  isDamaged: boolean
}

export async function repair(
  store: RowStore,
  { project, onProgress }: { project?: string | undefined; onProgress?: Progress | undefined },
): Promise<RepairReport> {
  const places = await store.rows(rows => placesOf(rows, project))
  const total = places.reduce((sum, place) => sum + place.events, 0)
  const heads: RepairedHead[] = []
  let done = 0
  for (const { project: name, conversationId } of places) {
    const place = { project: name, conversationId }
    try {
      const folding = await store.rows(rows => folded(rows, place, events => onProgress?.(done + events, total)))
      if (folding) heads.push(...(await store.change(place, rows => writeHeads(rows, place, folding))))
    } catch (error) {
      if (error instanceof StoreReadOnly || error instanceof StoreFull || error instanceof StoreBusy) throw error
      // This conversation cannot be read. `verify` reports it; the others are repaired.
    }
    done += places.find(other => other.conversationId === conversationId)?.events ?? 0
    onProgress?.(done, total)
  }
  return { heads, indexed: await store.reindex(project) }
}

async function folded(
  rows: Rows,
  place: ConversationPlace,
  progress: (events: number) => void,
): Promise<Folding | undefined> {
  const head = await rows.conversation(place)
  // Purged since the list was made.
  if (!head) return undefined
  const base = head.branchOf?.version ?? 0
  const folding: Folding = { fold: headFold(place), version: base, newest: undefined, isDamaged: false }
  while (await takePage(rows, place, folding)) {
    progress(folding.version - base)
    await nextTurn()
  }
  return folding
}

async function takePage(rows: Rows, place: ConversationPlace, folding: Folding): Promise<boolean> {
  const page = await rows.events(place, { after: folding.version, limit: pageRows })
  for (const row of page) {
    const recorded = recordedOf(place, row)
    if (recorded.event.type === 'damaged' || row.version !== folding.version + 1) folding.isDamaged = true
    folding.fold.take(recorded)
    folding.version = row.version
    const activeAt = Date.parse(folding.fold.conversation?.activeAt ?? recorded.at)
    folding.newest = { version: row.version, hash: row.hash, activeAt }
  }
  return page.length > 0
}

async function writeHeads(rows: RowChanges, place: ConversationPlace, folding: Folding): Promise<RepairedHead[]> {
  while (await takePage(rows, place, folding));
  const head = await rows.conversation(place)
  if (!head) return []
  // A head that names a later version: the end of the log is missing.
  const isDamaged = folding.isDamaged || head.version > folding.version
  const { info, sessions, isNamed } = folding.fold.heads()
  return [
    // Without its creation event, the log gives no better head than a damaged one.
    ...(isNamed ? await writeInfo(rows, place, { head, info, isDamaged }) : []),
    ...(await writeNewest(rows, place, { head, newest: folding.newest })),
    ...(await writeSessions(rows, place, { sessions, isDamaged })),
    ...(await writeLanes(rows, place)),
  ]
}

async function writeInfo(
  rows: RowChanges,
  place: ConversationPlace,
  { head, info, isDamaged }: { head: ConversationRow; info: ConversationInfo; isDamaged: boolean },
): Promise<RepairedHead[]> {
  const what = difference(head.info, info, isDamaged) ?? (isDamaged ? undefined : listedWrong(head, info))
  if (what === undefined) return []
  await rows.setInfo(place, info)
  return [{ ...place, what }]
}

function listedWrong(head: ConversationRow, info: ConversationInfo): string | undefined {
  if (head.status !== info.status) return 'its status was another than its log says'
  return head.isListedAs(info) ? undefined : 'its work item was another than its log says'
}

/** Puts right the columns that name the newest event. */
async function writeNewest(
  rows: RowChanges,
  place: ConversationPlace,
  { head, newest }: { head: ConversationRow; newest: Folding['newest'] },
): Promise<RepairedHead[]> {
  if (!newest || head.version > newest.version) return []
  const isSame = head.version === newest.version && Buffer.compare(head.hash, newest.hash) === 0
  if (isSame && isoTime(head.activeAt) === isoTime(newest.activeAt)) return []
  const isNew = await rows.setNewest(place, newest)
  return isNew ? [{ ...place, what: 'it named another event as the newest' }] : []
}

async function writeSessions(
  rows: RowChanges,
  place: ConversationPlace,
  { sessions, isDamaged }: { sessions: ReadonlyMap<string, SessionHead>; isDamaged: boolean },
): Promise<RepairedHead[]> {
  const repaired: RepairedHead[] = []
  const report = (sessionId: string, what: string) => repaired.push({ ...place, sessionId, what })
  const stored = await rows.sessions(place)
  const storedIds = new Set(stored.map(({ id }) => id))
  for (const session of stored) {
    const head = sessions.get(session.id)
    if (!head) {
      if (isDamaged) continue
      await rows.removeSession(place, session.id)
      report(session.id, 'the log knows no such session')
      continue
    }
    const isListed = isDamaged || session.isListedAs(head)
    const listed = isListed ? undefined : 'it was not found by its key'
    const status = session.status === head.status ? undefined : 'its status was another'
    const what = difference(session.head, head, isDamaged) ?? status ?? listed
    if (what === undefined) continue
    await rows.putSessions(place, [{ head, usedAt: changedAtMs(head) }])
    report(session.id, what)
  }
  for (const [id, head] of sessions) {
    if (storedIds.has(id)) continue
    await rows.putSessions(place, [{ head, usedAt: changedAtMs(head) }])
    report(id, 'it was missing')
  }
  return repaired
}

async function writeLanes(rows: RowChanges, place: ConversationPlace): Promise<RepairedHead[]> {
  const repaired: RepairedHead[] = []
  for (const { lane, audienceKey, audience: text } of await rows.lanes(place)) {
    const audience = audienceOfKey(audienceKey)
    if (!audience || isAudienceOf(text, audienceKey)) continue
    await rows.setAudience(place, lane, JSON.stringify(audience))
    repaired.push({ ...place, what: `a lane did not say that it is for ${audienceKey}` })
  }
  return repaired
}

/** Says what is wrong with a stored head. Where the log is damaged, compares nothing: a head that can be read stays. */
function difference(text: string, head: object, isDamaged: boolean): string | undefined {
  const stored = parsedOr<object | undefined>(text, () => undefined)
  if (stored === undefined) return 'it could not be read'
  if (isDamaged || isDeepStrictEqual(stored, JSON.parse(JSON.stringify(head)))) return undefined
  return 'it differed from what its log says'
}
