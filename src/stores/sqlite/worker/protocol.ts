/** The messages between the engine's thread and its worker. */

import type { AuditEntry, AuditQuery, ProjectSpending, Spending } from '../../../log/accounts.ts'
import type { Landmark, Listed, ProjectTotals } from '../../../log/directory.ts'
import type { Origin } from '../../../log/events/recorded-event.ts'
import type { SearchHit, SearchQuery, TitleHit, TitleQuery } from '../../../log/search.ts'
import type { RepairReport, VerifyReport } from '../../../log/upkeep.ts'

export interface WorkerSettings {
  path: string
  durability: 'full' | 'relaxed'
  epoch: string
  readOnly: boolean
}

/** The operations of the worker, with the input and the result of each. */
export interface Operations {
  /** Indexes a batch of events. Gives true when that was all the log has. */
  feed: { takes: undefined; gives: boolean }
  /** Does one step of tidying the index. Gives true when there may be another. */
  tidy: { takes: undefined; gives: boolean }
  /** Copies the write-ahead log into the file while writers go on. */
  copyLog: { takes: undefined; gives: undefined }
  /** Copies its last pages, so that it starts over; writers stand aside. Gives false when that failed. */
  finishLog: { takes: undefined; gives: boolean }
  search: { takes: SearchQuery; gives: SearchHit[] }
  titles: { takes: TitleQuery; gives: TitleHit[] }
  /** Positions of the messages with an id. */
  find: { takes: string; gives: number[] }
  landmark: { takes: { project: string; conversationId: string; version: number }; gives: Landmark | undefined }
  totals: { takes: string; gives: ProjectTotals }
  audit: { takes: AuditQuery; gives: Listed<AuditEntry> }
  spending: { takes: string; gives: ProjectSpending }
  spendingOf: {
    takes: { project: string; conversationIds: readonly string[] }
    gives: Record<string, Spending>
  }
  verify: { takes: { project?: string }; gives: VerifyReport }
  repair: { takes: { project?: string }; gives: RepairReport }
  /** Reads lines of an archive after a version. The first page fixes `upTo`: later appends stay out of the archive. */
  exportPage: {
    takes: { project: string; conversationId: string; after: number; upTo: number | undefined }
    gives: { lines: string[]; last: number; upTo: number }
  }
  purge: {
    takes: {
      project: string
      conversationId: string
      archive: string
      hash: string
      now: number
      reason?: string
      origin: Origin
    }
    gives: { events: number }
  }
  /** Takes one page of the lines of a restore. The conversation appears with the last page. */
  restorePage: {
    takes: { ticket: string; project: string; lines: string[]; last: boolean; now: number }
    gives: string | undefined
  }
  /** Drops the pages of a restore that will not be finished. */
  abandonRestore: { takes: string; gives: undefined }
  /** Prepares the index for the erasing of the message at a position. */
  expectErase: { takes: number; gives: undefined }
  /** Undoes that: the message was not erased. */
  callOffErase: { takes: number; gives: undefined }
  /** Overwrites removed content in the index and in write-ahead logs. Gives true when all of it is gone. */
  scrub: { takes: undefined; gives: boolean }
}

export type Operation = keyof Operations

export interface Call {
  id: number
  operation: Operation
  input: unknown
}

export type Reply =
  | { id: number; kind: 'result'; value: unknown }
  | { id: number; kind: 'progress'; done: number; total: number }
  | { id: number; kind: 'error'; error: CarriedError }

/** An error as it crosses the threads. */
export interface CarriedError {
  message: string
  /** SQLite's code. */
  errcode?: number
  /** The code of a `ColloquyError`. */
  code?: string
  facts?: Readonly<Record<string, unknown>>
}
