/** A decision: a pure function from the current heads and time to the events to record. */
import { ConversationClosed, NotFound, SessionClosed } from '../../errors.ts'
import type { ConversationEvent } from '../events/event.ts'
import type { ConversationHead } from '../views/conversation.ts'
import type { Heads } from '../views/heads.ts'
import { changedAtMs, expiryOf, type SessionHead } from '../views/session.ts'

export type Decision = (heads: Heads, now: number) => readonly ConversationEvent[]

/** Returns the session in any state except deleted. */
export function sessionIn(heads: Heads, sessionId: string): SessionHead {
  const head = heads.session?.head
  if (!head || head.status === 'deleted') throw new NotFound('session', sessionId)
  return head
}

/** Returns the session if it takes writes now. */
export function openSessionIn(heads: Heads, sessionId: string, now: number): SessionHead {
  const head = sessionIn(heads, sessionId)
  const status = head.status === 'active' && isExpired(heads, now) ? 'expired' : head.status
  if (status !== 'active') throw new SessionClosed({ sessionId, sessionStatus: status })
  return head
}

/** Returns the conversation if it takes writes now. */
export function openConversationIn(heads: Heads, conversationId: string): ConversationHead {
  const head = heads.conversation
  if (!head) throw new NotFound('conversation', conversationId)
  const { status } = head.info
  if (status !== 'active') throw new ConversationClosed({ conversationId, conversationStatus: status })
  return head
}

/** Reads the time of the last use only when the session's own events do not settle it, because that costs a query. */
export function isExpired(heads: Heads, now: number): boolean {
  const { session } = heads
  if (!session || session.head.expiresInMs === null) return false
  if (changedAtMs(session.head) + session.head.expiresInMs > now) return false
  return expiryOf(session.head, session.lastActiveAtMs)! <= now
}
