/**
 * The port of the append-only log. Stores implement it; `test/contract/event-log.ts` is what they must promise.
 */
import type { BranchPoint } from './events/conversation.ts'
import type { ConversationEvent } from './events/event.ts'
import type { Origin, RecordedEvent } from './events/recorded-event.ts'
import type { WorkItem } from './events/work-item.ts'
import type { ConversationHead } from './views/conversation.ts'
import type { Heads } from './views/heads.ts'
import type { SessionHead } from './views/session.ts'

/** Something somebody wants recorded in one conversation. */
export interface Proposal {
  project: string
  /**
   * The conversation: by id; by what it is about, and then `id` names it only if it has to be made; or the one that the
   * proposal's session is on.
   */
  conversation: { id: string; workItem?: WorkItem } | 'of-session'
  /** The session to look at, by id or by natural key (then the active one). */
  session?: { id: string } | { key: string }
  /** The version the caller saw; 'any' to write after whatever is there. */
  expected: number | 'any'
  /**
   * Decides what to record from the heads inside the write itself, so that nothing can come between. Pure: it may be
   * called again. Throwing refuses the proposal and writes nothing; returning no events writes nothing.
   */
  decide(heads: Heads): readonly ConversationEvent[]
  origin: Origin
  /** Makes the write happen once: the same key gives the first result for ever. */
  once?: Once
  /** The write happens only while this lease is held. */
  fence?: { name: string; generation: number }
}

export interface Once {
  key: string
  /** Tells a repeated call from a different one with the same key. */
  digest: string
  /** The digest that earlier releases recorded for the same call, where it differs. */
  earlierDigest?: string
}

export interface Appended {
  conversation: ConversationHead | undefined
  session: SessionHead | undefined
  /** What was recorded, in order; what the first call recorded when `replayed`. */
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
  /** The conversation is a branch: what its parent says up to there comes before. */
  branchOf?: BranchPoint
}

export interface SubscribeOptions {
  project: string
  /** Only what happens in this conversation. Many may follow one each: what happens in others costs them next to nothing. */
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
   * Every event of a project once, in order: first what the log has after `from`, then what is appended, by whatever
   * process. A reader that stops reading costs a cursor, not a queue.
   *
   * @throws {PositionUnknown} when `from` is not a position of this store
   */
  subscribe(options: SubscribeOptions): AsyncIterableIterator<RecordedEvent>

  /** The position of the newest event; a subscription from here sees what comes next. */
  position(): Promise<string>
}
