/** What the engine's thread and the worker beside it say to each other. */

import type { ProjectSpending, Spending } from '../../../log/accounts.ts'
import type { Landmark } from '../../../log/directory.ts'
import type { SearchHit, SearchQuery, TitleHit, TitleQuery } from '../../../log/search.ts'
import type { UpkeepOperation } from '../../../log/upkeep-work.ts'

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
  spending: { takes: string; gives: ProjectSpending }
  spendingOf: {
    takes: { project: string; conversationIds: readonly string[] }
    gives: Record<string, Spending>
  }
  /** An operation of upkeep: `log/upkeep-work.ts` says what each takes and returns. */
  upkeep: { takes: { operation: UpkeepOperation; input: unknown }; gives: unknown }
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
