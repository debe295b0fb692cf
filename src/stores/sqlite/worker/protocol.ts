/** What the engine's thread and the worker beside it say to each other. */

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

/** The worker's operations: what each takes and gives. */
export interface Operations {
  /** Takes a batch of events into the index. Gives whether that was all there is. */
  feed: { takes: undefined; gives: boolean }
  /** One step of bringing the index in order. Gives whether there may be another. */
  tidy: { takes: undefined; gives: boolean }
  /** Moves the write-ahead log into the file while others go on writing to it. */
  copyLog: { takes: undefined; gives: undefined }
  /** Moves the rest, so that it starts over: quick, while nobody writes. Gives whether it could. */
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
  /** Lines of an archive from a place on. `upTo` is fixed by the first page: what is appended meanwhile stays out. */
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
  /** One restore is several pages of lines; the last says so, and then the conversation appears. */
  restorePage: {
    takes: { ticket: string; project: string; lines: string[]; last: boolean; now: number }
    gives: string | undefined
  }
  /** The rest of a restore will not come: what came of it is let go. */
  abandonRestore: { takes: string; gives: undefined }
  /** The message at a position is about to be erased: the index will be told by the log when it is. */
  expectErase: { takes: number; gives: undefined }
  /** It was not erased after all. */
  callOffErase: { takes: number; gives: undefined }
  /** Overwrites what erased or purged content left in the index and in write-ahead logs. Gives whether all of it is gone. */
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

/** An error that crosses the threads: its class where it is one of ours, SQLite's code where it has one, the words. */
export interface CarriedError {
  message: string
  errcode?: number
  /** Of an error of ours. */
  code?: string
  facts?: Readonly<Record<string, unknown>>
}
