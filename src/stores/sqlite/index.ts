/**
 * The embedded store: one SQLite file, several processes, no server.
 *
 * This thread appends and reads windows. Everything longer runs in the worker.
 */
import type { Accounts } from '../../log/accounts.ts'
import type { Directory } from '../../log/directory.ts'
import type { EventLog } from '../../log/event-log.ts'
import type { Search } from '../../log/search.ts'
import type { Store } from '../../log/store.ts'
import type { Upkeep } from '../../log/upkeep.ts'
import type { Windows } from '../../log/windows.ts'
import { openParts, type Parts, type SqliteOptions } from './parts.ts'
import { directory } from './read/directory.ts'
import { windowReader } from './read/windows.ts'
import { inSnapshot } from './transaction.ts'
import { engineUpkeep } from './upkeep/engine-upkeep.ts'
import { maintenance } from './upkeep/maintenance.ts'
import { nodeRegister } from './write/nodes.ts'

export type { SqliteOptions } from './parts.ts'
export { sqliteStatus } from './status.ts'
export { type Salvaged, salvage } from './upkeep/salvage.ts'

/**
 * Opens the store at a path, or a fresh one that goes away when it is closed (`:memory:`).
 *
 * @throws {StoreUnusable} when the file cannot be opened, or is not a store of today's schema
 */
export async function sqliteStore(path: string, options: SqliteOptions): Promise<Store> {
  const parts = await openParts(path, options)
  const { database, heads, guard, clock, writer } = parts
  const { reading, writing } = guard
  const reads = { ...windows(parts), ...directory({ database, heads, reading, writing }) }
  let closing: Promise<void> | undefined
  return {
    ...eventLog(parts),
    ...parts.leases.leases({ reading, writing }),
    ...nodeRegister({ database, clock, reading, writing }),
    ...reads,
    ...search(parts),
    ...accounts(parts),
    ...engineUpkeep(parts, reads),
    ...due(parts),
    queue: () => writer.size(),
    close() {
      closing ??= parts.close()
      return closing
    },
  }
}

function eventLog({ guard, append, read, subscriptions, pages }: Parts): EventLog {
  return {
    append: proposal => guard.writing(() => append(proposal)),
    read: range => guard.reading(() => read(range)),
    subscribe(options) {
      guard.refuseClosed()
      return subscriptions.subscribe(options)
    },
    position: () => guard.reading(() => pages.position()),
  }
}

function windows({ database, heads, guard, worker }: Parts): Windows {
  const reader = windowReader({ database, heads })
  /** Several queries of one moment: cached heads must not be older than the rows. */
  const readingAtOnce = <T>(read: () => T) =>
    guard.reading(() =>
      inSnapshot(database, () => {
        heads.refresh()
        return read()
      }),
    )
  return {
    messages: (window, page) => readingAtOnce(() => reader.messages(window, page)),
    measure: window => readingAtOnce(() => reader.measure(window)),
    async message(project, id) {
      const positions = await worker.call('find', id)
      return guard.reading(() => {
        for (const position of positions) {
          const message = reader.message(project, id, position)
          if (message) return message
        }
        return undefined
      })
    },
  }
}

function search({ worker, housekeeping }: Parts): Search {
  return {
    search(query) {
      housekeeping.searched()
      return worker.call('search', query)
    },
    searchTitles: query => worker.call('titles', query),
  }
}

function accounts({ worker }: Parts): Omit<Accounts, 'audit'> & Pick<Directory, 'landmark'> {
  return {
    landmark: (project, conversationId, version) => worker.call('landmark', { project, conversationId, version }),
    spending: project => worker.call('spending', project),
    spendingOf: (project, conversationIds) => worker.call('spendingOf', { project, conversationIds }),
  }
}

function due({ database, heads, guard }: Parts): Pick<Upkeep, 'expiring' | 'archivable' | 'due'> {
  const { reading, writing } = guard
  const lists = maintenance({ database, heads, reading, writing })
  return {
    expiring: (project, now, limit) => lists.expiring(project, now, limit),
    archivable: (project, query, page) => reading(() => lists.archivable(project, query, page)),
    due: (project, now, page) => reading(() => lists.due(project, now, page)),
  }
}
