/** Heads at an earlier version: folded from the events that are not messages, starting at the nearest landmark. */
import { InvalidInput, NotFound } from '../../errors.ts'
import type { SessionCreated } from '../../log/events/session.ts'
import { begunAs, headFold } from '../../log/fold.ts'
import type { StoreCalls } from '../../log/store.ts'
import { type ConversationHead, expiryEvent } from '../../log/views/conversation.ts'
import { inheritedHead, type SessionHead } from '../../log/views/session.ts'
import { conversationHead } from './conversation-head.ts'

export interface PastHeads {
  conversation: ConversationHead
  sessions: ReadonlyMap<string, SessionHead>
}

const pageSize = 1000
/** Below this many events, folding all of them is faster than looking for a landmark. */
const minEventsForLandmark = 512

/**
 * The heads right after `version`. In a branch, a version before the branch point is the parent's.
 *
 * @throws {InvalidInput} when the conversation has no such version
 */
export async function pastHeads(
  store: StoreCalls,
  { project, conversationId, version }: { project: string; conversationId: string; version: number },
): Promise<PastHeads> {
  const now = await conversationHead(store, project, conversationId)
  if (!Number.isInteger(version) || version < 1 || version > now.version) {
    throw new InvalidInput('version', `must be from 1 to ${now.version}, where conversation ${conversationId} is now`)
  }
  const { branchOf } = now.info
  if (branchOf && version <= branchOf.version) {
    return pastHeads(store, { project, conversationId: branchOf.conversationId, version })
  }
  const start = branchOf?.version ?? 0
  const landmark =
    version - start > minEventsForLandmark ? await store.landmark(project, conversationId, version) : undefined
  const fold = headFold({ project, conversationId }, landmark ?? { conversation: begunAs(now), sessions: [] })
  let from = (landmark?.conversation.version ?? start) + 1
  for (;;) {
    const page = await store.read({ project, conversationId, from, to: version, limit: pageSize, facts: true })
    for (const recorded of page) fold.take(recorded)
    const last = page.at(-1)
    if (page.length < pageSize || !last) break
    from = last.version + 1
  }
  const { conversation } = fold
  // Throws if the conversation was purged while its pages were read.
  if (!conversation || from > start + 1) await conversationHead(store, project, conversationId)
  if (!conversation) throw new NotFound('conversation', conversationId)
  const activeAt = (await lastUse(store, { project, conversationId, version })) ?? conversation.activeAt
  return {
    conversation: { ...conversation, version, activeAt },
    sessions: fold.heads().sessions,
  }
}

/** The time of the last use, which is not folded because messages count as use. Nearly always that version's own time. */
async function lastUse(
  store: StoreCalls,
  { project, conversationId, version }: { project: string; conversationId: string; version: number },
): Promise<string | undefined> {
  for (let to = version, limit = 1; to > 0; to -= limit, limit = pageSize) {
    const events = await store.read({ project, conversationId, to, backwards: true, limit })
    const use = events.find(({ event }) => event.type !== expiryEvent)
    if (use || events.length < limit) return use?.at
  }
  return undefined
}

/**
 * Returns the session that an agent's first session in a branch continues: its session at the branch point, of any task
 * state, because a branch is a thread. Later sessions follow the first, as in any conversation.
 */
export async function continuation(
  store: StoreCalls,
  conversation: ConversationHead | undefined,
  agentName: string,
): Promise<SessionCreated['continues']> {
  if (!conversation?.info.branchOf) return undefined
  const { project, id: conversationId } = conversation.info
  const status = ['active', 'expired', 'archived', 'deleted'] as const
  const { items } = await store.sessions({ project, conversationId, agentName, status, limit: 1 })
  return items.length > 0 ? undefined : leftBehind(store, conversation, agentName)
}

/** Returns the agent's session at the branch point, or at the branch point of the parent, and so on. */
export async function leftBehind(
  store: StoreCalls,
  { info: { project, branchOf } }: ConversationHead,
  agentName: string,
): Promise<SessionCreated['continues']> {
  for (let point = branchOf; point; ) {
    const past: PastHeads = await pastHeads(store, { project, ...point })
    const last = lastOf([...past.sessions.values()].filter(head => head.agentName === agentName))
    // An archived or deleted session is not continued. An expired one is.
    if (last?.status === 'archived' || last?.status === 'deleted') return undefined
    if (last) return { sessionIds: [last.id, ...(last.continues ?? [])], head: inheritedHead(last) }
    // The agent had no session there. The parent may be a branch too.
    point = past.conversation.info.branchOf
  }
  return undefined
}

/** Returns the one without a task state, as in the branch; else the newest active one; else the newest. */
function lastOf(own: readonly SessionHead[]): SessionHead | undefined {
  const active = own.filter(head => head.status === 'active')
  return active.findLast(head => head.taskState === undefined) ?? active.at(-1) ?? own.at(-1)
}
