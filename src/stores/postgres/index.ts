/**
 * The store for many nodes: a schema in a PostgreSQL database, with the same promises as the embedded one.
 *
 * `write/record-batch.ts` says how appends of many nodes stay apart, `read/read-horizon.ts` how readers keep the order.
 */
import type { Accounts } from '../../log/accounts.ts'
import type { Directory } from '../../log/directory.ts'
import type { EventLog } from '../../log/event-log.ts'
import type { Leases } from '../../log/leases.ts'
import type { Nodes } from '../../log/nodes.ts'
import type { Search } from '../../log/search.ts'
import type { Store } from '../../log/store.ts'
import { upkeepCalls } from '../../log/upkeep/upkeep-calls.ts'
import type { Upkeep } from '../../log/upkeep.ts'
import type { Windows } from '../../log/windows.ts'
import { exclusiveWork } from './advisory-lock.ts'
import { openParts, type Parts, type PostgresOptions } from './parts.ts'
import { windowReader } from './read/windows.ts'
import { messageSearch } from './search/message-search.ts'
import { titleSearch } from './search/title-search.ts'
import { landmarkOf } from './upkeep/landmarks.ts'
import { maintenance } from './upkeep/maintenance.ts'
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
export async function postgresStore(address: string, options: PostgresOptions): Promise<Store> {
  const parts = await openParts(address, options)
  let closing: Promise<void> | undefined
  return {
    ...eventLog(parts),
    ...leases(parts),
    ...nodes(parts),
    ...windows(parts),
    ...directory(parts),
    ...search(parts),
    ...upkeep(parts),
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

function nodes(parts: Parts): Nodes {
  const { guard } = parts
  const register = nodeRegister(parts)
  return {
    announceNode: node => guard.writing(() => register.announceNode(node)),
    forgetNode: id => guard.writing(() => register.forgetNode(id)),
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

function directory(parts: Parts): Omit<Directory, 'totals'> {
  const { guard, directory: lists } = parts
  return {
    conversation: (project, id) => guard.reading(() => lists.conversation(project, id)),
    conversationOf: (project, item) => guard.reading(() => lists.conversationOf(project, item)),
    conversations: query => guard.reading(() => lists.conversations(query)),
    workItems: query => guard.reading(() => lists.workItems(query)),
    session: (project, id) => guard.reading(() => lists.session(project, id)),
    sessionByKey: (project, key) => guard.reading(() => lists.sessionByKey(project, key)),
    sessions: query => guard.reading(() => lists.sessions(query)),
    projects: () => guard.reading(() => lists.projects()),
    landmark: (project, id, version) => guard.reading(() => landmarkOf(parts, { project, id, version })),
  }
}

function search({ database, projects, index, guard, readOnly }: Parts): Search {
  // A store that only reads searches what others have fed; a writer feeds when it pauses and when it closes.
  const input = { database, projects, feed: async (project: number) => (readOnly ? undefined : index.feed(project)) }
  const messages = messageSearch(input)
  const titles = titleSearch(input)
  return {
    search: query => guard.reading(() => messages(query)),
    searchTitles: query => guard.reading(() => titles(query)),
  }
}

function upkeep(parts: Parts): Upkeep & Accounts & Pick<Directory, 'totals'> & Pick<Store, 'upkeep'> {
  const { database, projects, epoch, guard, clock, directory: lists } = parts
  const due = maintenance({ database, projects, conversation: lists.conversation })
  const { message } = windows(parts)
  const { conversation } = directory(parts)
  const run = runUpkeep(parts)
  return {
    upkeep: run,
    ...upkeepCalls({ run, message, conversation, clock }),
    ...(database.canKeep && { alone: exclusiveWork(database, epoch) }),
    expiring: (project, now, limit) => guard.reading(() => due.expiring(project, now, limit)),
    archivable: (project, query, page) => guard.reading(() => due.archivable(project, query, page)),
    due: (project, now, page) => guard.reading(() => due.due(project, now, page)),
  }
}
