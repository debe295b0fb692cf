/**
 * Ordered subscriptions. Each reader is a cursor over positions; readers of one project at the end of the log share what
 * is read there.
 *
 * Commits of this process wake readers at once. Those of other processes wake them by a notification, which has nothing
 * but the project's number in it, and by polling where a notification is lost with its connection.
 */

import type { SubscribeOptions } from '../../../log/event-log.ts'
import type { RecordedEvent } from '../../../log/events/recorded-event.ts'
import type { Database } from '../database.ts'
import { asStoreError } from '../errors.ts'
import type { Projects } from '../projects.ts'
import { LogPages } from './log-pages.ts'
import { type FeedHub, ProjectFeed } from './project-feed.ts'
import { oldestWriter } from './read-horizon.ts'
import { Subscription } from './subscription.ts'

const pollMs = 250
const reportAfterMs = 5_000

export interface SubscriptionsInput {
  database: Database
  projects: Projects
  epoch: string
  base: number
  /** Called when a transaction elsewhere holds events up for long. */
  report(message: string): void
}

export class Subscriptions implements FeedHub {
  readonly pages: LogPages
  isClosed = false
  readonly #input: SubscriptionsInput
  readonly #feeds = new Map<string, ProjectFeed>()
  readonly #starting = new Set<Promise<unknown>>()
  #timer: NodeJS.Timeout | undefined
  #removals = 0
  #heldUpSince: number | undefined
  #isReported = false

  constructor(input: SubscriptionsInput) {
    this.#input = input
    this.pages = new LogPages(input)
  }

  subscribe({ project, conversationId, from = 'now', signal }: SubscribeOptions): AsyncIterableIterator<RecordedEvent> {
    const feed = this.#join(project)
    const start = Promise.all([
      this.pages.startOf(project, from),
      feed.newestPurge === undefined && this.forgetPurged([feed]),
    ]).then(([found]) => found)
    this.#starting.add(start)
    start.catch(() => undefined).finally(() => this.#starting.delete(start))
    return new Subscription({
      feed,
      conversationId,
      signal,
      start,
      isClosed: () => this.isClosed,
      removals: () => this.#removals,
      asError: error => asStoreError(error, this.#input.database.url.name),
      ended: () => this.#leave(feed),
    })
  }

  position(): Promise<string> {
    return this.pages.newestPosition(() => this.isClosed)
  }

  /** Resolves when every subscription knows where it starts; undefined when all do. */
  started(): Promise<unknown> | undefined {
    return this.#starting.size === 0 ? undefined : Promise.allSettled([...this.#starting])
  }

  /** Called after each commit of this process. */
  wake(project: string): void {
    this.#feeds.get(project)?.pull()
  }

  /** Called for each notification: it names a project by its number. */
  wakeNumber(number: number): void {
    for (const feed of this.#feeds.values()) if (this.#input.projects.known(feed.project) === number) feed.pull()
  }

  wakeAll(): void {
    for (const feed of this.#feeds.values()) feed.pull()
  }

  forget(): void {
    this.#removals++
    for (const feed of this.#feeds.values()) feed.forget()
  }

  async forgetPurged(feeds: readonly ProjectFeed[]): Promise<boolean> {
    const newest = new Map(await this.pages.newestPurges(feeds.map(feed => feed.project)))
    let isPurged = false
    for (const feed of feeds) {
      const purge = newest.get(feed.project)
      if (purge === undefined) continue
      isPurged ||= feed.newestPurge !== undefined && feed.newestPurge !== purge
      feed.newestPurge = purge
    }
    if (isPurged) this.forget()
    return isPurged
  }

  heldUpFor(isHeldUp: boolean): number {
    const now = performance.now()
    this.#heldUpSince = isHeldUp ? (this.#heldUpSince ?? now) : undefined
    const waitedMs = now - (this.#heldUpSince ?? now)
    if (waitedMs > reportAfterMs && !this.#isReported) {
      this.#isReported = true
      this.#report().catch(() => undefined)
    }
    return waitedMs
  }

  close(): void {
    this.isClosed = true
    clearInterval(this.#timer)
    for (const feed of this.#feeds.values()) feed.wakeReaders()
  }

  async #report(): Promise<void> {
    const writer = await oldestWriter(this.#input.database.read).catch(() => 'unknown')
    this.#input.report(`Subscriptions go the long way around a transaction that has been open for long: ${writer}.`)
  }

  /** Notifications may be lost. A reader that does not wait must not be given later what was purged meanwhile. */
  #poll(): void {
    this.wakeAll()
    const idle = [...this.#feeds.values()].filter(feed => !feed.isPulling)
    if (idle.length > 0) this.forgetPurged(idle).catch(() => undefined)
  }

  #join(project: string): ProjectFeed {
    const feed = this.#feeds.get(project) ?? new ProjectFeed(project, this)
    this.#feeds.set(project, feed)
    feed.readers++
    // A subscription alone does not keep a program running.
    this.#timer ??= setInterval(() => this.#poll(), pollMs).unref()
    return feed
  }

  #leave(feed: ProjectFeed): void {
    if (--feed.readers > 0) return
    this.#feeds.delete(feed.project)
    if (this.#feeds.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}
