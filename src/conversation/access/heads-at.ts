/**
 * How heads stood at an earlier version: folded from the events that are not messages, from the nearest landmark on where
 * the store keeps any.
 */
import { InvalidInput, NotFound } from '../../errors.ts'
import type { SessionCreated } from '../../log/events/session.ts'
import { begunAs, headFold } from '../../log/fold.ts'
import type { Store } from '../../log/store.ts'
import { type ConversationHead, unusedMark } from '../../log/views/conversation.ts'
import { inheritedHead, type SessionHead } from '../../log/views/session.ts'
import { conversationHead } from './conversation-head.ts'

export interface PastHeads {
  conversation: ConversationHead
  sessions: ReadonlyMap<string, SessionHead>
}

const pageSize = 1000
/** Of a short conversation all is folded sooner than a landmark is found. */
const worthLooking = 512

/**
 * The heads right after `version`. In a branch, a version before the branch point is the parent's.
 *
 * @throws {InvalidInput} when the conversation has no such version
 */
export async function pastHeads(
  store: Store,
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
  const landmark = version - start > worthLooking ? await store.landmark?.(project, conversationId, version) : undefined
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
  // One that is purged meanwhile has no more pages.
  if (!conversation || from > start + 1) await conversationHead(store, project, conversationId)
  if (!conversation) throw new NotFound('conversation', conversationId)
  const activeAt = (await lastUse(store, { project, conversationId, version })) ?? conversation.activeAt
  return {
    conversation: { ...conversation, version, activeAt },
    sessions: fold.heads().sessions,
  }
}

/** Nearly always the time of that version's event: messages are not among what was folded. */
async function lastUse(
  store: Store,
  { project, conversationId, version }: { project: string; conversationId: string; version: number },
): Promise<string | undefined> {
  for (let to = version, limit = 1; to > 0; to -= limit, limit = pageSize) {
    const events = await store.read({ project, conversationId, to, backwards: true, limit })
    const found = events.find(({ event }) => event.type !== unusedMark)
    if (found || events.length < limit) return found?.at
  }
  return undefined
}

/**
 * What an agent's first session in a branch goes on from: its session as it was at the branch point, whatever state of a
 * task it was for. A branch is a thread and has none. Later sessions come after the first, as in any conversation.
 */
export async function continuation(
  store: Store,
  conversation: ConversationHead | undefined,
  agentName: string,
): Promise<SessionCreated['continues']> {
  if (!conversation?.info.branchOf) return undefined
  const { project, id: conversationId } = conversation.info
  const status = ['active', 'expired', 'archived', 'deleted'] as const
  const { items } = await store.sessions({ project, conversationId, agentName, status, limit: 1 })
  return items.length > 0 ? undefined : leftBehind(store, conversation, agentName)
}

/** Where an agent was when the branch left what it branches off. */
export async function leftBehind(
  store: Store,
  { info: { project, branchOf } }: ConversationHead,
  agentName: string,
): Promise<SessionCreated['continues']> {
  for (let point = branchOf; point; ) {
    const past: PastHeads = await pastHeads(store, { project, ...point })
    const last = lastOf([...past.sessions.values()].filter(head => head.agentName === agentName))
    // One that somebody put away or deleted is not gone on from; one that was away for long is, whoever noticed it when.
    if (last?.status === 'archived' || last?.status === 'deleted') return undefined
    if (last) return { sessionIds: [last.id, ...(last.continues ?? [])], head: inheritedHead(last) }
    // It was not on that one: if that is a branch, too, it goes on from what it branches off.
    point = past.conversation.info.branchOf
  }
  return undefined
}

/** Of several at work, the one that is for no state, like those of the branch; else the newest. */
function lastOf(own: readonly SessionHead[]): SessionHead | undefined {
  const active = own.filter(head => head.status === 'active')
  return active.findLast(head => head.taskState === undefined) ?? active.at(-1) ?? own.at(-1)
}
