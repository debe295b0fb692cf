/** How heads stood at an earlier version: folded from the events that are not messages, never from the whole log. */
import { InvalidInput, NotFound } from '../errors.ts'
import type { SessionCreated } from '../events/session.ts'
import type { Store } from '../log/store.ts'
import { type ConversationHead, evolveConversation } from '../views/conversation.ts'
import { evolveSession, inheritedHead, type SessionHead, sessionOf } from '../views/session.ts'

export interface PastHeads {
  conversation: ConversationHead
  sessions: ReadonlyMap<string, SessionHead>
}

const pageSize = 1000

/**
 * The heads right after `version`. In a branch, a version before the branch point is the parent's.
 *
 * @throws {InvalidInput} when the conversation has no such version
 */
export async function pastHeads(
  store: Store,
  { project, conversationId, version }: { project: string; conversationId: string; version: number },
): Promise<PastHeads> {
  const now = await store.conversation(project, conversationId)
  if (!now) throw new NotFound('conversation', conversationId)
  if (!Number.isInteger(version) || version < 1 || version > now.version) {
    throw new InvalidInput('version', `must be from 1 to ${now.version}, where conversation ${conversationId} is now`)
  }
  const { branchOf } = now.info
  if (branchOf && version <= branchOf.version) {
    return pastHeads(store, { project, conversationId: branchOf.conversationId, version })
  }
  let conversation: ConversationHead | undefined
  const sessions = new Map<string, SessionHead>()
  let from = (branchOf?.version ?? 0) + 1
  for (;;) {
    const page = await store.read({ project, conversationId, from, to: version, limit: pageSize, facts: true })
    for (const recorded of page) {
      conversation = evolveConversation(conversation, recorded)
      const id = sessionOf(recorded)
      if (id === undefined || !conversation) continue
      const session = evolveSession(sessions.get(id), recorded, conversation.info.workItem)
      if (session) sessions.set(id, session)
    }
    const last = page.at(-1)
    if (page.length < pageSize || !last) break
    from = last.version + 1
  }
  if (!conversation) throw new NotFound('conversation', conversationId)
  const [newest] = await store.read({ project, conversationId, from: version, to: version })
  return { conversation: { ...conversation, version, activeAt: newest?.at ?? conversation.activeAt }, sessions }
}

/** What a new session in a branch goes on from: the same agent's session as it was at the branch point. */
export async function continuation(
  store: Store,
  conversation: ConversationHead | undefined,
  agent: { agentName: string; taskState?: string | undefined },
): Promise<SessionCreated['continues']> {
  const branchOf = conversation?.info.branchOf
  if (!branchOf) return undefined
  const { project } = conversation.info
  const { sessions } = await pastHeads(store, { project, ...branchOf })
  const before = [...sessions.values()].findLast(
    ({ agentName, taskState, status }) =>
      agentName === agent.agentName && taskState === agent.taskState && status === 'active',
  )
  return before && { sessionIds: [before.id, ...(before.continues ?? [])], head: inheritedHead(before) }
}
