/**
 * The port of the append-only log. Stores implement it; `src/testing/event-log.ts` tests what they must promise.
 */
import type { BranchPoint } from './events/conversation.ts'
import type { ConversationEvent } from './events/event.ts'
import type { Origin, RecordedEvent } from './events/recorded-event.ts'
import type { WorkItem } from './events/work-item.ts'
import type { ConversationHead } from './views/conversation.ts'
import type { Heads } from './views/heads.ts'
import type { SessionHead } from './views/session.ts'

/** A write to one conversation: its decision, and what must hold when it is made. */
export interface Proposal {
  project: string
  /**
   * The conversation: by id; by its work item, and then `id` is used only if the write creates it; or the one of the
   * proposal's session.
   */
  conversation: { id: string; workItem?: WorkItem } | 'of-session'
  /** The session whose head `decide` gets, by id or by natural key (then the active one). */
  session?: { id: string } | { key: string }
  /** The version the caller saw; 'any' to write after whatever is there. */
  expected: number | 'any'
  /**
   * Decides what to record from the heads inside the write itself, so that nothing can come between. Pure: it may be
   * called again. Throwing refuses the proposal and writes nothing; returning no events writes nothing.
   */
  decide(heads: Heads): readonly ConversationEvent[]
  origin: Origin
  /** Makes the write happen once: the same key always gives the first result. */
  once?: Once
  /** The write happens only while this lease is held. */
  fence?: { name: string; generation: number }
}

export interface Once {
  key: string
  /** Tells a repeated call from a different one with the same key. */
  digest: string
}

export interface Appended {
  conversation: ConversationHead | undefined
  session: SessionHead | undefined
  /** The recorded events, in order. When `replayed`, those of the first call. */
  events: readonly RecordedEvent[]
  replayed: boolean
}

export interface EventRange {
  project: string
  conversationId: string
  /** First version wanted, default 1. */
  from?: number
  /** Last version wanted, default the newest. */
  to?: number
  /** Newest first. The range stays the same. */
  backwards?: boolean
  /** Default 1000. */
  limit?: number
  /** Only events that are not messages. */
  facts?: boolean
  /** The parent's event that a branch continues. The parent's events up to it come first. */
  branchOf?: BranchPoint
}

export interface SubscribeOptions {
  project: string
  /** Only events of this conversation. Events of others cost the subscriber next to nothing. */
  conversationId?: string
  /** 'start', 'now' (default), or the position of the last event seen. */
  from?: string
  signal?: AbortSignal
}

export interface EventLog {
  /**
   * Records what the proposal decides, all of it or none. When it resolves, it survives kill -9 and power loss.
   *
   * @throws {VersionConflict} when the conversation is not at `expected`
   * @throws {ConversationPurged} when the conversation is not there because it was purged
   * @throws {KeyReused} when the key was used with another digest
   * @throws {LeaseLost} when the fence no longer holds
   */
  append(proposal: Proposal): Promise<Appended>

  /** The events of a range of versions. An unknown conversation has none. */
  read(range: EventRange): Promise<RecordedEvent[]>

  /**
   * Every event of a project once, in order: first what the log has after `from`, then what any process appends. A
   * reader that stops reading costs a cursor, not a queue.
   *
   * @throws {PositionUnknown} when `from` is not a position of this store
   */
  subscribe(options: SubscribeOptions): AsyncIterableIterator<RecordedEvent>

  /** The position of the newest event; a subscription from here sees what comes next. */
  position(): Promise<string>
}
