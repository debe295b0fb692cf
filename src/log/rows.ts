/**
 * The port for rows: what upkeep reads and changes. `upkeep/` holds every operation, written once above this port.
 *
 * A row is what the store holds, right or wrong: nothing here checks or folds.
 */
import type { Appended, Proposal } from './event-log.ts'
import type { BranchPoint } from './events/conversation.ts'
import type { Origin } from './events/recorded-event.ts'
import type { WorkItem } from './events/work-item.ts'
import type { LaneKind, LaneSums } from './records/lane.ts'
import type { ConversationHead, ConversationInfo } from './views/conversation.ts'
import type { SessionHead } from './views/session.ts'

export interface ConversationPlace {
  project: string
  conversationId: string
}

export interface ConversationRow {
  /** The head, as JSON. */
  info: string
  /** True if the columns that lists are filtered by agree with this head. */
  isListedAs(info: ConversationInfo): boolean
  status: string
  /** The newest event, as the head names it. */
  version: number
  hash: Uint8Array
  /** Milliseconds of the last use. */
  activeAt: number
  /** The parent's event that a branch continues. Its hash is undefined when that event is lost. */
  branchOf?: BranchPoint & { hash: Uint8Array | undefined }
}

export interface SessionRow {
  id: string
  status: string
  /** The head, as JSON. */
  head: string
  /** True if the columns that sessions are found by agree with this head. */
  isListedAs(head: SessionHead): boolean
}

export interface LaneRow {
  /** Names the lane within its conversation. */
  lane: number
  audienceKey: string
  kind: LaneKind
  /** The audience, as JSON. */
  audience: string
}

export interface EventRow {
  version: number
  type: string
  schema: number
  /** Milliseconds. */
  at: number
  actor: string
  channel: string
  request: string | null
  message: string | null
  /** The lane of a message, and the lane's running sums with this message. Null for other events. */
  lane: number | null
  sums: LaneSums | null
  /** Both are null when the content was erased. */
  salt: Uint8Array | null
  body: string | null
  digest: Uint8Array
  hash: Uint8Array
  /** True if the row matches the store's checksum of it. */
  isIntact: boolean
  /** The blobs that the body names and that are stored, by digest. */
  blobs: ReadonlyMap<string, string>
}

/** The columns of an event that an audit looks at. */
export interface EnvelopeRow {
  conversationId: string
  version: number
  at: number
  actor: string
  channel: string
  request: string | null
  type: string
}

/** An idempotency key. It outlives a purge of its conversation. */
export interface KeyRow {
  key: string
  digest: string
  conversationId: string
  firstVersion: number
  lastVersion: number
  sessionId: string | null
}

export interface PurgeRow extends Origin {
  conversationId: string
  archive: string
  events: number
  /** The hash of its newest event. */
  hash: Uint8Array
  /** Milliseconds. */
  at: number
  reason?: string
  /** Milliseconds. Set once it was restored. */
  restoredAt?: number
}

/** The share of a conversation in the totals of its project. */
export interface TotalsRow extends LaneSums {
  conversationId: string
  sessions: number
  events: number
  compactions: number
}

/** The columns of a conversation that retention looks at. Times are in milliseconds. */
export interface RetentionRow {
  conversationId: string
  status: string
  createdAt: number
  /** The last use. */
  activeAt: number
}

/** A page of rows in the order of their keys: those after the key `after`. */
export interface RowPage {
  project: string
  after?: string | undefined
  limit: number
}

export interface ConversationSummary {
  conversationId: string
  /** The number of its events. In a branch, those of its parent do not count. */
  events: number
  /** The hash of its newest event. */
  hash: Uint8Array
}

/** Reads rows as they are at one moment. */
export interface Rows {
  /**
   * Problems of the store as a whole, such as a broken file; with a project, those that may concern it. With
   * `isReadable: false` no row can be trusted.
   */
  problems(project: string | undefined): Promise<{ problems: string[]; isReadable: boolean }>
  projects(): Promise<string[]>
  /** The conversations of a project, in the order of their creation: a branch after its parent. */
  conversations(project: string): Promise<ConversationSummary[]>
  conversation(place: ConversationPlace): Promise<ConversationRow | undefined>
  /** The conversation that is about a work item. */
  conversationOf(project: string, workItem: WorkItem): Promise<string | undefined>
  /** A conversation that branches off this one, if there is any. */
  branchOf(place: ConversationPlace): Promise<string | undefined>
  lanes(place: ConversationPlace): Promise<LaneRow[]>
  sessions(place: ConversationPlace): Promise<SessionRow[]>
  /** Events by version. A page may have fewer than `limit`; only an empty one is the last. */
  events(place: ConversationPlace, range: { after: number; upTo?: number; limit: number }): Promise<EventRow[]>
  /** The version of the newest event of these types. */
  newestOf(place: ConversationPlace, types: readonly string[]): Promise<number | undefined>
  keys(page: RowPage): Promise<KeyRow[]>
  /** Purges of a project, or of one conversation, the newest last. Also those that were restored since. */
  purges(project: string, conversationId?: string): Promise<PurgeRow[]>
  /** Envelopes before a cursor, the newest first. `next` is absent when the beginning was reached. */
  envelopes(page: { project: string; before?: string | undefined; limit: number }): Promise<{
    rows: Array<EnvelopeRow & { cursor: string }>
    next?: string
  }>
  totals(page: RowPage): Promise<TotalsRow[]>
  retention(page: RowPage): Promise<RetentionRow[]>
}

/** Changes rows within one transaction. */
export interface RowChanges extends Rows {
  /** Records a proposal in this transaction, at a time in milliseconds. */
  append(proposal: Proposal, now: number): Promise<Appended>
  /** Replaces an event's content, or removes it: then blobs that only it used and its words in the index go too. */
  setContent(place: ConversationPlace, version: number, content?: { body: string; salt: Uint8Array }): Promise<void>
  /** Removes the digests from the idempotency keys of the calls that recorded a version. The keys stay. */
  wipeKeys(place: ConversationPlace, version: number): Promise<void>
  /** Adds idempotency keys. Those that are there stay as they are. */
  addKeys(project: string, keys: readonly KeyRow[]): Promise<void>
  addPurge(project: string, purge: PurgeRow): Promise<void>
  /** Adds purges that another store recorded, and skips as many positions as their events had there. */
  copyPurges(project: string, purges: readonly PurgeRow[]): Promise<void>
  markRestored(place: ConversationPlace, at: number): Promise<void>
  /** Removes a conversation with all its rows but keys and purges, and returns how many events it had. */
  removeConversation(place: ConversationPlace): Promise<number>
  addConversation(head: ConversationHead, hash: Uint8Array): Promise<void>
  /** Called after `addConversation`, and before `addEvents`. */
  addLanes(place: ConversationPlace, lanes: readonly LaneRow[]): Promise<void>
  /** Adds events, oldest first. */
  addEvents(place: ConversationPlace, events: readonly EventRow[]): Promise<void>
  /** Adds sessions, or replaces their heads. `usedAt` (milliseconds) is what the expiry counts from. */
  putSessions(place: ConversationPlace, sessions: ReadonlyArray<{ head: SessionHead; usedAt: number }>): Promise<void>
  removeSession(place: ConversationPlace, id: string): Promise<void>
  setInfo(place: ConversationPlace, info: ConversationInfo): Promise<void>
  /**
   * Writes which event is the newest. Returns false, and does nothing, in a store that reads it from the log itself.
   */
  setNewest(place: ConversationPlace, newest: { version: number; hash: Uint8Array; activeAt: number }): Promise<boolean>
  setAudience(place: ConversationPlace, lane: number, audience: string): Promise<void>
}

export interface RowStore {
  /** Reads rows as they are at one moment, whatever is written meanwhile. May call `work` again. */
  rows<T>(work: (rows: Rows) => Promise<T>): Promise<T>
  /**
   * Changes rows in one transaction: all of it is done, or nothing. Nothing is appended to the conversation meanwhile.
   * May call `work` again.
   */
  change<T>(place: ConversationPlace, work: (rows: RowChanges) => Promise<T>): Promise<T>
  /** Builds what is derived from the log again, such as the full-text index. Returns how many messages are indexed. */
  reindex(project: string | undefined): Promise<number>
}
