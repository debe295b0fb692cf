/** The messages between the engine's thread and its worker. */
import type { SearchHit, SearchQuery, TitleHit, TitleQuery } from '../../../log/search.ts'
import type { UpkeepOperation } from '../../../log/upkeep-work.ts'

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
  /** Runs an operation of upkeep: `log/upkeep-work.ts` has the input and the result of each. */
  upkeep: { takes: { operation: UpkeepOperation; input: unknown }; gives: unknown }
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
