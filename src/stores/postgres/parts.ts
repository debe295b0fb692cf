/** The parts of an open store, put together. */

import { idProblem } from '../../log/events/id.ts'
import type { StoreOptions } from '../../log/store.ts'
import type { HeadLists } from '../common/query-dispatch.ts'
import { Commits } from './commits.ts'
import { type Database, openDatabase } from './database.ts'
import { asStoreError } from './errors.ts'
import { Guard } from './guard.ts'
import { openSchema } from './open-schema.ts'
import { type Projects, projectNumbers } from './projects.ts'
import { directory } from './read/directory.ts'
import { type ReadEvents, reader } from './read/events.ts'
import { notifications } from './read/notifications.ts'
import { Subscriptions } from './read/subscribe.ts'
import { FeedTimer } from './search/feed-timer.ts'
import { SearchIndex } from './search/search-index.ts'
import { keepStatistics } from './upkeep/statistics.ts'
import { parseUrl } from './url.ts'
import { AppendQueue } from './write/append.ts'

export interface PostgresOptions extends StoreOptions {
  /** Opens without writing, not even a schema. */
  readOnly?: boolean
  /** Connections at most, without the one that listens. Default 10. */
  connections?: number
  /** Called with what an operator should know, such as a transaction elsewhere that holds subscribers up. Default: a warning. */
  onReport?: (message: string) => void
}

export interface Parts {
  database: Database
  projects: Projects
  epoch: string
  /** Added to the server's transaction numbers. */
  base: number
  clock: () => number
  /** The time that leases are measured by; null for the server's. */
  leaseClock: () => number | null
  readOnly: boolean
  guard: Guard
  read: ReadEvents
  lists: HeadLists
  index: SearchIndex
  subscriptions: Subscriptions
  appends: AppendQueue
  commits: Commits
  /** The places of the messages with an id, and the number of their project. */
  placesOf(
    project: string,
    messageId: string,
  ): Promise<{ number: number; places: Array<{ conversation: number; version: number }> }>
  listen(): void
  close(): Promise<void>
}

/** More transactions under way at once would only split batches. */
const maxTransactions = 4

/** @throws {StoreUnusable} when the server cannot be reached, or the schema is of another version or program */
export async function openParts(address: string, options: PostgresOptions): Promise<Parts> {
  const { clock, durability = 'full', readOnly = false, busyTimeoutMs = 10_000, connections = 10 } = options
  const report = options.onReport ?? (message => process.emitWarning(message, 'ColloquyWarning'))
  const url = parseUrl(address)
  const database = openDatabase({ url, durability, readOnly, busyTimeoutMs, connections })
  const { epoch, base } = await openSchema(database, { readOnly }).catch(async error => {
    await database.close()
    throw asStoreError(error, url.name)
  })
  // The clock of a test or a replay counts for leases too; otherwise all nodes go by the server's.
  const leaseClock = () => (clock === Date.now ? null : clock())
  const projects = projectNumbers(database)
  const guard = new Guard(url.name, { readOnly })
  const read = reader({ database, projects, epoch })
  const index = new SearchIndex({ database, base })
  const subscriptions = new Subscriptions({ database, projects, epoch, base, report })
  const signals = notifications({
    database,
    heard: number => subscriptions.wakeNumber(number),
    connected: () => subscriptions.wakeAll(),
  })
  const feedTimer = new FeedTimer(number => index.feed(number))
  const statistics = keepStatistics(database)
  const commits = new Commits({ projects, subscriptions, notifications: signals, feedTimer, statistics })
  const appends = new AppendQueue({
    ...{ database, projects, epoch, base, clock, leaseClock, read },
    maxTransactions: Math.max(1, Math.min(maxTransactions, connections - 1)),
    committed: (written, events) => commits.add(written, events),
    started: () => subscriptions.started(),
  })

  async function close(): Promise<void> {
    guard.close()
    // Idle connections keep no process alive; taking leave of the server does, or the process would end in the middle.
    const alive = setInterval(() => undefined, 1000)
    try {
      await appends.close()
      commits.flush()
      await feedTimer.finish()
      subscriptions.close()
      await signals.close()
      await database.close()
    } finally {
      clearInterval(alive)
    }
  }

  return {
    ...{
      database,
      projects,
      epoch,
      base,
      clock,
      leaseClock,
      readOnly,
      guard,
      read,
      index,
      subscriptions,
      appends,
      commits,
    },
    lists: directory({ database, projects }),
    async placesOf(project, messageId) {
      const number = await projects.find(project)
      if (number === undefined || idProblem(messageId)) return { number: 0, places: [] }
      if (!readOnly) await index.feed(number)
      return { number, places: await index.find(number, messageId) }
    },
    listen: () => void signals.listen().catch(() => undefined),
    close,
  }
}
