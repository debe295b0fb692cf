/** An event as the log holds it: the fact and its envelope (where, when, by whom, through what). */
import type { ConversationEvent, StoredEvent } from './event.ts'

/** The author of a write, its channel and request. The audit reads these; no second record is kept. */
export interface Origin {
  actor: string
  channel: string
  requestId?: string
}

export interface RecordedEvent<E extends StoredEvent = StoredEvent> extends Origin {
  project: string
  conversationId: string
  /** 1, 2, 3 … within the conversation, without gaps. */
  version: number
  /** Opaque position in the store. Grows with every event and resumes a subscription. */
  position: string
  /** ISO time of the write. Order never depends on it. */
  at: string
  /** Hex. Covers the previous event's hash, this envelope and a salted digest of the content. */
  hash: string
  event: E
}

export function isOfType<T extends ConversationEvent['type']>(
  recorded: RecordedEvent,
  type: T,
): recorded is RecordedEvent<Extract<ConversationEvent, { type: T }>> {
  return recorded.event.type === type
}
