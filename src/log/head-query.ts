/** The query of a store for heads: one by its name, or a page of those that match. */
import type { ConversationQuery, Listed, SessionQuery, WorkQuery } from './directory.ts'
import type { WorkItem } from './events/work-item.ts'
import type { ConversationHead } from './views/conversation.ts'
import type { SessionHead } from './views/session.ts'

/** At most one of the fields is set. Without any, the most recently active come first; from page to page to the minute. */
export interface ConversationHeadQuery extends ConversationQuery {
  of: 'conversations'
  id?: string
  /** The conversation about this. */
  workItem?: WorkItem
  /** Work items of this type, in order of priority, the oldest first. */
  work?: Omit<WorkQuery, 'project' | 'status' | 'cursor' | 'limit'>
  /** Conversations whose heads say that they are due at this time (milliseconds), the longest due first. */
  dueAt?: number
}

/** At most one of the fields is set. Without any, the newest come first. */
export interface SessionHeadQuery extends SessionQuery {
  of: 'sessions'
  id?: string
  /** The active session of this natural key. */
  key?: string
  /**
   * Active sessions whose stored expiry is at this time (milliseconds) or before, the longest expired first. A use that
   * recorded nothing about the session itself may be missing in the stored expiry.
   */
  expiredAt?: number
}

export type HeadQuery = ConversationHeadQuery | SessionHeadQuery

export type HeadPage<Q extends HeadQuery> = Listed<Q extends ConversationHeadQuery ? ConversationHead : SessionHead>
