/** The port for what is done to a store now and then: checking, erasing, purging, restoring, expiring. */

import type { ArchivePlace } from './archive-place.ts'
import type { Listed } from './directory.ts'
import type { Origin } from './events/recorded-event.ts'
import type { Copies } from './records/erased-copies.ts'
import type { ConversationHead } from './views/conversation.ts'
import type { SessionHead } from './views/session.ts'

export interface Damage {
  project: string
  conversationId: string
  /** Undefined when the damage is not in one event: a head, a sum, a session. */
  version?: number
  what: string
}

export interface VerifyReport {
  conversations: number
  events: number
  damages: Damage[]
  /** True when no damage was found. */
  clean: boolean
}

/** A head that said something else than its log, or nothing readable, and says it now. */
export interface RepairedHead {
  project: string
  conversationId: string
  /** Absent when it is the conversation's own. */
  sessionId?: string
  what: string
}

export interface RepairReport {
  heads: RepairedHead[]
  /** How many messages the full-text index has, built anew. */
  indexed: number
}

export type Progress = (done: number, total: number) => void

export interface Erased {
  conversationId: string
  version: number
  /** Archive files that may still hold the content: out of this store's reach. */
  archives: string[]
  /**
   * A program that is reading keeps the write-ahead log from being overwritten, and the content may be found there until
   * it is done. It is tried again until then, and when the store is closed.
   */
  lingers?: true
}

export interface Purged {
  conversationId: string
  events: number
  /** Where the archive file is. */
  archive: string
  /** As of an erased message. */
  lingers?: true
}

/** A purge on record. */
export interface PurgedConversation {
  conversationId: string
  archive: string
  /** ISO time. */
  at: string
  events: number
}

export interface Upkeep {
  /** Refolds every head and sum, checks every hash, and reports each damaged record. Changes nothing. */
  verify(options?: { project?: string; onProgress?: Progress }): Promise<VerifyReport>

  /**
   * Puts right what is derived: heads that differ from what the log says are folded anew, the full-text index is built
   * again. The log is not touched. Where the log itself is damaged, a head that can be read stays: it may know more than
   * the log still says. A store that lacks it derives nothing that can go wrong.
   */
  repair?(options?: { project?: string; onProgress?: Progress }): Promise<RepairReport>

  /**
   * Removes a message's content and salt, its blobs and its words in the index, and writes facts that repeat it anew, all
   * in one. The hash chain stays provable.
   *
   * @throws {NotFound} when there is no such message
   * @throws {VersionConflict} when facts were recorded meanwhile that may repeat it: nothing was erased, look again
   */
  erase(request: {
    project: string
    messageId: string
    reason?: string
    origin: Origin
    copies?: Copies
  }): Promise<Erased>

  /**
   * Writes facts anew that repeat a message erased before, or one that a branch shares with its parent. Gives the archive
   * files that may still hold them as they were.
   *
   * @throws {VersionConflict} as `erase`
   */
  rewrite(request: {
    project: string
    conversationId: string
    /** The message that is, or will be, erased. */
    message: { id: string; version: number }
    reason?: string
    origin: Origin
    copies: Copies
  }): Promise<string[]>

  /**
   * Writes a conversation to an archive file, then removes it. Its idempotency keys stay.
   *
   * @throws {NotFound} when there is no such conversation
   * @throws {ConversationDamaged} when records of it are damaged, so that its archive could not be restored
   */
  purge(request: {
    project: string
    conversationId: string
    to: ArchivePlace
    reason?: string
    origin: Origin
  }): Promise<Purged>

  /** What was purged, newest first. */
  purges(project: string): Promise<PurgedConversation[]>

  /**
   * Brings an archive back, byte for byte, hashes checked.
   *
   * @throws {IllegalState} when the conversation is there already
   */
  restore(request: { project: string; lines: AsyncIterable<string>; origin: Origin }): Promise<ConversationHead>

  /** A conversation as the lines of an archive file: every event with its hashes, then a closing line. */
  export(request: { project: string; conversationId: string }): AsyncIterable<string>

  /** Sessions that look expired at `now`, a batch at a time; the caller decides and records it. */
  expiring(project: string, now: number, limit: number): Promise<SessionHead[]>

  /**
   * Conversations that look due for archiving: completed, or made before, or untouched since the given times. The caller
   * decides, and may leave some as they are.
   */
  archivable(
    project: string,
    due: { completed?: boolean; createdBefore?: number; inactiveSince?: number },
    page: { limit: number; cursor?: string },
  ): Promise<Listed<ConversationHead>>

  /**
   * Does work that one process at a time does for a project; undefined when another is at it. A process that dies lets go
   * at once. A store that lacks it leaves that to leases, which a dead process holds until their time is over.
   */
  alone?<T>(project: string, name: string, work: () => Promise<T>): Promise<T | undefined>

  /** Conversations that somebody should look after at `now`, longest due first. Looking need not change anything. */
  due(project: string, now: number, page: { limit: number; cursor?: string }): Promise<Listed<ConversationHead>>
}
