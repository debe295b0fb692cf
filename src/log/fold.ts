/** Heads from the log itself: for when a stored one is damaged, and to check the stored ones by. */
import type { RecordedEvent } from '../events/recorded.ts'
import { type ConversationHead, type ConversationInfo, evolveConversation } from '../views/conversation.ts'
import { evolveSession, type SessionHead, sessionOf } from '../views/session.ts'

export interface FoldedHeads {
  info: ConversationInfo
  sessions: Map<string, SessionHead>
  /** False when the record of how it began is damaged too. */
  isNamed: boolean
}

/** Folds the facts of a conversation, its messages left out or not. */
export function foldHeads(
  facts: Iterable<RecordedEvent>,
  place: { project: string; conversationId: string },
): FoldedHeads {
  const fold = headFold(place)
  for (const recorded of facts) fold.take(recorded)
  return fold.heads()
}

export interface HeadFold {
  take(recorded: RecordedEvent): void
  heads(): FoldedHeads
}

/** The same event by event, for a log that is read in pages. */
export function headFold(place: { project: string; conversationId: string }): HeadFold {
  let head: ConversationHead | undefined
  const sessions = new Map<string, SessionHead>()
  return {
    take(recorded) {
      head = evolveConversation(head, recorded)
      const about = sessionOf(recorded)
      if (about === undefined) return
      const next = evolveSession(sessions.get(about), recorded, (head?.info ?? nameless(place)).workItem)
      if (next) sessions.set(next.id, next)
    },
    heads: () => ({ info: head?.info ?? nameless(place), sessions, isNamed: head !== undefined }),
  }
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

/** The JSON of a head, which may be damaged. */
export function parsedOr<T>(text: string, otherwise: () => T): T {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as T) : otherwise()
  } catch {
    return otherwise()
  }
}
