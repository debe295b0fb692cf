/** All that a store offers. One file, one server: the ports together, and a way to let go. */
import type { Accounts } from './accounts.ts'
import type { Directory } from './directory.ts'
import type { EventLog } from './event-log.ts'
import type { Leases } from './leases.ts'
import type { Nodes } from './nodes.ts'
import type { Search } from './search.ts'
import type { Upkeep } from './upkeep.ts'
import type { RunUpkeep } from './upkeep-work.ts'
import type { Windows } from './windows.ts'

export interface Store extends EventLog, Leases, Nodes, Windows, Directory, Search, Accounts, Upkeep {
  /** Does a piece of upkeep. `upkeepOver` has the code of all of them; the store says where it runs. */
  upkeep: RunUpkeep
  /** Writes that wait to be committed, and the most that did since this was last asked. */
  queue(): WriteQueue
  /** Finishes what is under way, then lets go of the file or the connections. */
  close(): Promise<void>
}

export interface WriteQueue {
  waiting: number
  most: number
}

/** What `openColloquy` hands to a store's door. */
export interface StoreOptions {
  clock: () => number
  /** 'full': an acknowledged write survives power loss. 'relaxed': it survives kill -9, but the last may be lost at power loss. */
  durability?: 'full' | 'relaxed'
  /** How long a write waits for other processes before it is refused. */
  busyTimeoutMs?: number
}
