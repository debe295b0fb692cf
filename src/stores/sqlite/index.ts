/**
 * The embedded store: one SQLite file, several processes, no server.
 *
 * This thread, the engine's, appends and reads windows. Everything longer runs in the worker thread.
 */
import type { EventLog } from '../../log/event-log.ts'
import type { Store, StoreCalls } from '../../log/store.ts'
import { storeCalls } from '../../log/upkeep/store-calls.ts'
import type { Windows } from '../../log/windows.ts'
import { headQueries, searchQueries } from '../common/query-dispatch.ts'
import { openParts, type Parts, type SqliteOptions } from './parts.ts'
import { directory } from './read/directory.ts'
import { windowReader } from './read/windows.ts'
import { inSnapshot } from './transaction.ts'
import { engineUpkeep } from './upkeep/engine-upkeep.ts'
import { nodeRegister } from './write/nodes.ts'

export type { SqliteOptions } from './parts.ts'
export { sqliteStatus } from './status.ts'
export { type Salvaged, salvage } from './upkeep/salvage.ts'

/**
 * Opens the store at a path. `:memory:` opens an empty one that is removed when it is closed.
 *
 * @throws {StoreUnusable} when the file cannot be opened, or its schema is not that of this release
 */
export async function sqliteStore(path: string, options: SqliteOptions): Promise<StoreCalls> {
  return storeCalls(portOver(await openParts(path, options)), options)
}

function portOver(parts: Parts): Store {
  const { database, heads, guard, clock, writer } = parts
  const { reading, writing } = guard
  let closing: Promise<void> | undefined
  return {
    ...eventLog(parts),
    ...parts.leases.leases({ reading, writing }),
    ...windows(parts),
    ...nodeRegister({ database, clock, reading, writing }),
    heads: headQueries(directory({ database, heads, reading })),
    search: searchOver(parts),
    upkeep: engineUpkeep(parts),
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
  /** Runs several queries on one snapshot. The heads are refreshed in it, so that they are not older than the rows. */
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
      // The search index knows where messages with this id are. Other projects may have some too.
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

function searchOver({ worker, housekeeping }: Parts): Store['search'] {
  return searchQueries({
    search(query) {
      housekeeping.searched()
      return worker.call('search', query)
    },
    searchTitles: query => worker.call('titles', query),
  })
}
