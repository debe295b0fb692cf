/** The port for finding conversations and sessions by their heads. */
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
  /** Of tasks: those of this feature. */
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
  /** Active ones are given, too, whose time may be over at this time (milliseconds): whoever asks looks closer. */
  overdueAt?: number
  cursor?: string
  limit?: number
}

/** A page of a list; `next` is absent on the last. */
export interface Listed<T> {
  items: T[]
  next?: string
  /** What belongs on this page and cannot be shown: its records are damaged. Absent when there is none. */
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

/** How the heads stood at a version. */
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
   * Conversations of work items, by what their heads say of the work: in order of priority, the oldest first. Those
   * that nobody described as a work item, or moved as one, are not among them.
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
   * Heads kept from an earlier time: the newest at or before a version of the conversation's own log. Whoever wants to
   * know a past state folds from there and not from the beginning. A store may keep none.
   */
  landmark?(project: string, conversationId: string, version: number): Promise<Landmark | undefined>
}
