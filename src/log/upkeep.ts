/** Upkeep, as callers know it: checking, erasing, purging, restoring, and what is due. */
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

/** A head that disagreed with its log, or could not be read, and was folded again. */
export interface RepairedHead {
  project: string
  conversationId: string
  /** Absent when it is the conversation's own. */
  sessionId?: string
  what: string
}

export interface RepairReport {
  heads: RepairedHead[]
  /** Number of messages in the full-text index, which was built again. */
  indexed: number
}

export type Progress = (done: number, total: number) => void

export interface Erased {
  conversationId: string
  version: number
  /** Archive files that may still hold the content. The store cannot change them. */
  archives: string[]
  /**
   * The write-ahead log may still hold the content, because another program reads there. Overwriting it is tried again
   * until that reader is done, and when the store is closed.
   */
  lingers?: true
}

export interface Purged {
  conversationId: string
  events: number
  /** Address of the archive file. */
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
   * Repairs what is derived from the log: heads that differ from it are folded again, the full-text index is built again.
   * The log is not touched. Where the log itself is damaged, a readable head stays: it may know more than the log.
   */
  repair(options?: { project?: string; onProgress?: Progress }): Promise<RepairReport>

  /**
   * Removes a message's content and salt, its blobs and its words in the index, and rewrites facts that repeat it, all in
   * one transaction. The hash chain stays provable.
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
   * Rewrites facts that repeat a message erased before, or one that a branch shares with its parent. Returns the archive
   * files that may still hold the earlier facts.
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

  /** The conversations of a project that were purged and not restored, newest first. */
  purges(project: string): Promise<PurgedConversation[]>

  /**
   * Brings an archive back, byte for byte, hashes checked.
   *
   * @throws {IllegalState} when the conversation is there already
   */
  restore(request: { project: string; lines: AsyncIterable<string>; origin: Origin }): Promise<ConversationHead>

  /** A conversation as the lines of an archive file: every event with its hashes, then a closing line. */
  export(request: { project: string; conversationId: string }): AsyncIterable<string>

  /** Sessions that are expired at `now`, a batch at a time. The caller decides and records it. */
  expiring(project: string, now: number, limit: number): Promise<SessionHead[]>

  /**
   * Conversations that look due for archiving: completed, or made before, or not used since the given times. The caller
   * decides, and may leave some as they are.
   */
  archivable(
    project: string,
    due: { completed?: boolean; createdBefore?: number; inactiveSince?: number },
    page: { limit: number; cursor?: string },
  ): Promise<Listed<ConversationHead>>

  /** Conversations that need attention at `now`, longest due first. The caller may find that nothing is to be done. */
  due(project: string, now: number, page: { limit: number; cursor?: string }): Promise<Listed<ConversationHead>>
}
