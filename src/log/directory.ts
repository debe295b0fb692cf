/** Conversations and sessions by their heads. */
import type { WorkItem } from './events/work-item.ts'
import type { LaneSums } from './records/lane.ts'
import type { ConversationHead, ConversationStatus } from './views/conversation.ts'
import type { SessionHead, SessionStatus } from './views/session.ts'

export interface ConversationQuery {
  project: string
  status?: readonly ConversationStatus[]
  type?: WorkItem['type']
  /** Only branches of this conversation. */
  branchesOf?: string
  /** The `next` of the page before. */
  cursor?: string
  /** Default 50. */
  limit?: number
}

export interface WorkQuery {
  project: string
  type: 'feature' | 'task' | 'bead'
  /** Only tasks of this feature. */
  featureId?: string
  /** Default all. */
  states?: readonly string[]
  /** Default all. */
  status?: readonly ConversationStatus[]
  cursor?: string
  /** Default 50. */
  limit?: number
}

export interface SessionQuery {
  project: string
  conversationId?: string
  workItem?: WorkItem
  agentName?: string
  /** Default all but deleted ones. */
  status?: readonly SessionStatus[]
  /** Adds active sessions that may be expired at this time (milliseconds). The caller looks closer. */
  overdueAt?: number
  cursor?: string
  limit?: number
}

/** Conversations that are not archived and are completed, or made before, or not used since the given times. */
export interface ArchivableQuery {
  project: string
  completed?: boolean
  /** Milliseconds, inclusive. */
  createdBefore?: number
  inactiveSince?: number
  cursor?: string
  limit: number
}

/** A page of a list; `next` is absent on the last. */
export interface Listed<T> {
  items: T[]
  next?: string
  /** Conversations of this page that cannot be shown, because their records are damaged. Absent when there is none. */
  damaged?: DamagedConversation[]
}

/** A conversation of which neither the head nor the log says what it is about. Its messages may well be readable. */
export interface DamagedConversation {
  conversationId: string
  reason: string
}

export interface ProjectTotals extends LaneSums {
  conversations: number
  sessions: number
  events: number
  compactions: number
}

/** The heads at an earlier version. */
export interface Landmark {
  conversation: ConversationHead
  sessions: SessionHead[]
}

export interface Directory {
  conversation(project: string, id: string): Promise<ConversationHead | undefined>
  conversationOf(project: string, workItem: WorkItem): Promise<ConversationHead | undefined>
  /** Most recently active first; from page to page to the minute. A damaged one is named apart, and hides no other. */
  conversations(query: ConversationQuery): Promise<Listed<ConversationHead>>
  /**
   * Conversations of work items, by what their heads say of the work: in order of priority, the oldest first. A
   * conversation that was never described or moved as a work item is not among them.
   */
  workItems(query: WorkQuery): Promise<Listed<ConversationHead>>
  session(project: string, id: string): Promise<SessionHead | undefined>
  /** The active session of a natural key. */
  sessionByKey(project: string, key: string): Promise<SessionHead | undefined>
  /** Newest first. */
  sessions(query: SessionQuery): Promise<Listed<SessionHead>>
  projects(): Promise<string[]>
  totals(project: string): Promise<ProjectTotals>
  /**
   * The newest stored heads at or before a version of the conversation's own log; undefined when the store has none. An
   * earlier state is folded from there, not from the beginning.
   */
  landmark(project: string, conversationId: string, version: number): Promise<Landmark | undefined>
}
