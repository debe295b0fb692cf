/**
 * `Store` is the port that a store implements; docs/stores.md says how. `StoreCalls` is what the rest of the program
 * calls: `upkeep/store-calls.ts` builds it over any `Store`.
 */
import type { Accounts } from './accounts.ts'
import type { Directory } from './directory.ts'
import type { EventLog } from './event-log.ts'
import type { HeadPage, HeadQuery } from './head-query.ts'
import type { Leases } from './leases.ts'
import type { NodeRegister, Nodes } from './nodes.ts'
import type { Search, SearchResult, StoreSearch } from './search.ts'
import type { Upkeep } from './upkeep.ts'
import type { RunUpkeep } from './upkeep-work.ts'
import type { Windows } from './windows.ts'

/** At most 20 methods. */
export interface Store extends EventLog, Leases, Windows, NodeRegister {
  /** Finds conversations or sessions by their heads. One that is too damaged to have a head is passed over or named. */
  heads<Q extends HeadQuery>(query: Q): Promise<HeadPage<Q>>
  /** Finds messages by their words, or conversations by their titles. No input is a syntax error. */
  search<Q extends StoreSearch>(query: Q): Promise<SearchResult<Q>>
  /** Runs an operation of upkeep. `upkeepOver` has the code of all of them; the store says where it runs. */
  upkeep: RunUpkeep
  /**
   * Does work that one process at a time does for a project, and returns undefined when another process does it. When a
   * process dies, the next may start at once. Without this method, leases do the same, and a dead process holds its lease
   * until it expires.
   */
  alone?<T>(project: string, name: string, work: () => Promise<T>): Promise<T | undefined>
  /** Returns how many writes wait to be committed, and the most that did since the last call. */
  queue(): WriteQueue
  /** Finishes the writes under way, then closes the file or the connections. */
  close(): Promise<void>
}

/** The calls on a store: the port's own, and those that are made of its heads, searches and upkeep. */
export interface StoreCalls
  extends EventLog,
    Leases,
    Nodes,
    Windows,
    Directory,
    Search,
    Accounts,
    Upkeep,
    Pick<Store, 'upkeep' | 'alone' | 'queue' | 'close'> {}

export interface WriteQueue {
  waiting: number
  most: number
}

/** The options that `openColloquy` hands to a store's door. */
export interface StoreOptions {
  clock: () => number
  /** 'full': an acknowledged write survives power loss. 'relaxed': it survives kill -9, but the last may be lost at power loss. */
  durability?: 'full' | 'relaxed'
  /** Milliseconds that a write waits for other processes before it is refused. */
  busyTimeoutMs?: number
}
