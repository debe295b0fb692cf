/**
 * The store for many nodes: a schema in a PostgreSQL database, with the same promises as the embedded one.
 *
 * `write/record-batch.ts` says how appends of many nodes stay apart, `read/read-horizon.ts` how readers keep the order.
 */
import type { EventLog } from '../../log/event-log.ts'
import type { Leases } from '../../log/leases.ts'
import type { NodeRegister } from '../../log/nodes.ts'
import type { Store, StoreCalls } from '../../log/store.ts'
import { storeCalls } from '../../log/upkeep/store-calls.ts'
import type { Windows } from '../../log/windows.ts'
import { headQueries, searchQueries } from '../common/query-dispatch.ts'
import { exclusiveWork } from './advisory-lock.ts'
import { openParts, type Parts, type PostgresOptions } from './parts.ts'
import { windowReader } from './read/windows.ts'
import { messageSearch } from './search/message-search.ts'
import { titleSearch } from './search/title-search.ts'
import { runUpkeep } from './upkeep/run-upkeep.ts'
import { leaseKeeper } from './write/leases.ts'
import { nodeRegister } from './write/nodes.ts'

export type { PostgresOptions } from './parts.ts'
export { postgresStatus } from './upkeep/status.ts'

/**
 * Opens the store in a database: `postgres://user@host/database?schema=colloquy`.
 *
 * @throws {StoreUnusable} when the server cannot be reached, or the schema is of another version or program
 */
export async function postgresStore(address: string, options: PostgresOptions): Promise<StoreCalls> {
  return storeCalls(portOver(await openParts(address, options)), options)
}

function portOver(parts: Parts): Store {
  const { database, epoch, guard, lists } = parts
  const heads = headQueries(lists)
  const search = searchOver(parts)
  let closing: Promise<void> | undefined
  return {
    ...eventLog(parts),
    ...leases(parts),
    ...nodes(parts),
    ...windows(parts),
    heads: query => guard.reading(() => heads(query)),
    search: query => guard.reading(() => search(query)),
    upkeep: runUpkeep(parts),
    ...(database.canKeep && { alone: exclusiveWork(database, epoch) }),
    queue: () => parts.appends.size(),
    close() {
      closing ??= parts.close()
      return closing
    },
  }
}

function eventLog({ guard, readOnly, appends, read, subscriptions, listen }: Parts): EventLog {
  return {
    append: proposal => (readOnly ? guard.writing(() => appends.append(proposal)) : appends.append(proposal)),
    read: range => guard.reading(() => read(range)),
    subscribe(options) {
      guard.refuseClosed()
      listen()
      return subscriptions.subscribe(options)
    },
    position: () => guard.reading(() => subscriptions.position()),
  }
}

function leases(parts: Parts): Leases {
  const { guard } = parts
  const keeper = leaseKeeper(parts)
  return {
    claim: request => guard.writing(() => keeper.claim(request)),
    claimAny: request => guard.writing(() => keeper.claimAny(request)),
    renew: request => guard.writing(() => keeper.renew(request)),
    release: request => guard.writing(() => keeper.release(request)),
    holderOf: request => guard.reading(() => keeper.holderOf(request)),
  }
}

function nodes(parts: Parts): NodeRegister {
  const { guard } = parts
  const register = nodeRegister(parts)
  return {
    putNode: node => guard.writing(() => register.putNode(node)),
    nodes: () => guard.reading(() => register.nodes()),
  }
}

function windows(parts: Parts): Windows {
  const { guard, placesOf } = parts
  const reader = windowReader(parts)
  return {
    messages: (window, page) => guard.reading(() => reader.messages(window, page)),
    measure: window => guard.reading(() => reader.measure(window)),
    message: (project, id) =>
      guard.reading(async () => {
        const { number, places } = await placesOf(project, id)
        for (const place of places) {
          const message = await reader.message(number, id, place)
          if (message) return message
        }
        return undefined
      }),
  }
}

function searchOver({ database, projects, index, readOnly }: Parts): Store['search'] {
  // A read-only store searches what other processes have put into the index. They do so when they pause or close.
  const input = { database, projects, feed: async (project: number) => (readOnly ? undefined : index.feed(project)) }
  return searchQueries({ search: messageSearch(input), searchTitles: titleSearch(input) })
}
