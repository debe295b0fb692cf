/** Heads from the log itself: for when a stored one is damaged, and to check the stored ones by. */
import type { RecordedEvent } from '../events/recorded.ts'
import { type ConversationHead, type ConversationInfo, evolveConversation } from '../views/conversation.ts'
import { evolveSession, type SessionHead, sessionOf } from '../views/session.ts'

export interface FoldedHeads {
  info: ConversationInfo
  sessions: Map<string, SessionHead>
}

/** Folds the facts of a conversation, its messages left out or not. */
export function foldHeads(
  facts: Iterable<RecordedEvent>,
  place: { project: string; conversationId: string },
): FoldedHeads {
  let head: ConversationHead | undefined
  const sessions = new Map<string, SessionHead>()
  for (const recorded of facts) {
    head = evolveConversation(head, recorded)
    const about = sessionOf(recorded)
    const next =
      about === undefined
        ? undefined
        : evolveSession(sessions.get(about), recorded, (head?.info ?? nameless(place)).workItem)
    if (next) sessions.set(next.id, next)
  }
  return { info: head?.info ?? nameless(place), sessions }
}

/** The little that can be said of a conversation whose beginning is damaged too. */
export function nameless({ project, conversationId }: { project: string; conversationId: string }): ConversationInfo {
  return {
    id: conversationId,
    project,
    title: '[damaged]',
    status: 'active',
    workItem: { type: 'thread', threadId: conversationId },
    metadata: {},
    createdAt: new Date(0).toISOString(),
  }
}

/** JSON that may be damaged. */
export function parsedOr<T>(text: string, otherwise: () => T): T {
  try {
    return JSON.parse(text) as T
  } catch {
    return otherwise()
  }
}
