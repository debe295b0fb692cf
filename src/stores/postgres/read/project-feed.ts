/**
 * The newest events of one project, read once per process and shared by all readers at the end of the log. A reader that
 * fell behind reads the table instead.
 */
import { isFullPage, pageOfTail, tooManyInTail } from '../../common/feed-limits.ts'
import { isAfter, type Place } from '../position.ts'
import type { Entry, LogPages } from './log-pages.ts'

/** While events wait behind a transaction under way: the pause, and when the precise horizon is asked for. */
const heldUp = { lookAgainMs: 5, preciseAfterMs: 200 }

/** The parts that the feeds of all projects share. */
export interface FeedHub {
  readonly pages: LogPages
  readonly isClosed: boolean
  /** Drops what every feed holds in memory: some of it was erased or purged. */
  forget(): void
  /** Drops it if another node purged something of these projects; true if it did. */
  forgetPurged(feeds: readonly ProjectFeed[]): Promise<boolean>
  /** Returns for how long events have been waiting; told with every look. */
  heldUpFor(isHeldUp: boolean): number
}

export class ProjectFeed {
  readonly project: string
  /** The number of subscriptions. */
  readers = 0
  /** The newest purge that is known, null if there was none. Undefined until it was looked for. */
  newestPurge: number | null | undefined
  readonly #hub: FeedHub
  #tail: Entry[] = []
  /** The place that the tail comes after; undefined until a reader was at the end. */
  #tailStart: Place | undefined
  #waiting = new Set<() => void>()
  #pulling: Promise<void> | undefined
  /** There may be more than the tail has. */
  #hasNews = true

  constructor(project: string, hub: FeedHub) {
    this.project = project
    this.#hub = hub
  }

  get isPulling(): boolean {
    return this.#pulling !== undefined
  }

  /** The next events for a reader; none when it is at the end. */
  async entriesAfter(place: Place): Promise<Entry[]> {
    const tailStart = this.#tailStart
    if (!tailStart || isAfter(tailStart, place)) {
      const behind = await this.#hub.pages.after(this.project, place, tailStart && tailStart.tx + 1)
      if (behind.length > 0) return behind
      this.#tailStart ??= place
    }
    let low = 0
    let high = this.#tail.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (isAfter(this.#tail[middle]!.place, place)) high = middle
      else low = middle + 1
    }
    return pageOfTail(this.#tail, low)
  }

  /** Calls back once, when there may be news. */
  onNews(wakeUp: () => void): void {
    this.#waiting.add(wakeUp)
    if (this.#hasNews) this.pull()
  }

  removeWaiting(wakeUp: () => void): void {
    this.#waiting.delete(wakeUp)
  }

  wakeReaders(): void {
    const woken = this.#waiting
    this.#waiting = new Set()
    for (const wakeUp of woken) wakeUp()
  }

  /** Drops the events in memory. Readers read the table again. */
  forget(): void {
    this.#tailStart = this.#tail.at(-1)?.place ?? this.#tailStart
    this.#tail = []
  }

  /** Reads the news, one read at a time; a read that is asked for meanwhile follows. */
  pull(): void {
    if (this.#hub.isClosed || this.readers === 0) return
    this.#hasNews = true
    // Without a waiting reader nothing is read; the next one finds that there is news.
    if (this.#pulling || this.#waiting.size === 0) return
    this.#pulling = this.#pullAll()
      // Each reader reads for itself, and hears of the failure when it gets there.
      .catch(() => this.wakeReaders())
      .finally(() => {
        this.#pulling = undefined
        if (this.#hasNews) this.pull()
      })
  }

  async #pullAll(): Promise<void> {
    this.#hasNews = false
    while (await this.#pullPage());
    this.wakeReaders()
  }

  /** Takes a page into the tail; true when there is more. */
  async #pullPage(): Promise<boolean> {
    const end = this.#tail.at(-1)?.place ?? this.#tailStart
    if (!end) return false
    const [isPurged, page] = await Promise.all([
      this.#hub.forgetPurged([this]),
      this.#hub.pages.after(this.project, end),
    ])
    // Some of the page may be among what was purged.
    if (isPurged) return true
    const fresh = page.length > 0 ? page : await this.#pastIdleTransactions(end)
    if (fresh.length === 0) return false
    if (fresh.some(({ event }) => event.event.type === 'message.erased')) this.#hub.forget()
    this.#tail.push(...fresh)
    const dropped = tooManyInTail(this.#tail)
    if (dropped > 0) {
      this.#tailStart = this.#tail[dropped - 1]!.place
      this.#tail = this.#tail.slice(dropped)
    }
    return isFullPage(fresh)
  }

  /** Events that wait only because of transactions that do not write events. Looks again soon when there are others. */
  async #pastIdleTransactions(end: Place): Promise<Entry[]> {
    const { pages } = this.#hub
    const isHeldUp = await pages.isHeldUp(this.project)
    const waitedMs = this.#hub.heldUpFor(isHeldUp)
    if (!isHeldUp) return []
    const fresh = waitedMs < heldUp.preciseAfterMs ? [] : await pages.pastIdleTransactions(this.project, end)
    if (fresh.length === 0) setTimeout(() => this.pull(), heldUp.lookAgainMs).unref()
    return fresh
  }
}
