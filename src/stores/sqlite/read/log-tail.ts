/** The newest events, read once per process and shared by all readers at the end of the log. */
import type { RecordedEvent } from '../../../log/events/recorded-event.ts'
import { isFullPage, pageOfTail, tooManyInTail } from '../../common/feed-limits.ts'
import { isBusy } from '../errors.ts'
import type { Entry, FeedPage, LogPages } from './log-pages.ts'

/** A reader at the end of the log. */
export interface Sleeper {
  isFor(event: RecordedEvent): boolean
  /** Called once. `end` is the row up to which nothing was for it. */
  wake(end: number): void
}

export class LogTail {
  readonly #pages: LogPages
  #entries: Entry[] = []
  /** The row that the entries come after; undefined while nothing is shared, and readers read the file. */
  #start: number | undefined
  #sleepers = new Set<Sleeper>()
  #newestPurge = 0
  /** Grows whenever content was removed: entries that were read ahead may be gone. */
  removals = 0

  constructor(pages: LogPages) {
    this.#pages = pages
  }

  startHere(): void {
    this.#entries = []
    this.#start = this.#pages.lastRow()
    this.#newestPurge = this.#pages.newestPurge()
  }

  /** The next events for a reader; none when it is at the end. */
  pageAfter(row: number, project: string, conversationId: string | undefined): FeedPage {
    const isBehind = this.#start === undefined || row < this.#start
    if (isBehind && conversationId !== undefined) return this.#pages.ofConversation(row, project, conversationId)
    const entries = isBehind ? this.#pages.after(row) : pageOfTail(this.#entries, this.#indexAfter(row))
    return { entries, upTo: entries.at(-1)?.row ?? row }
  }

  add(sleeper: Sleeper): void {
    this.#sleepers.add(sleeper)
  }

  remove(sleeper: Sleeper): void {
    this.#sleepers.delete(sleeper)
  }

  /** Takes in what was committed. Returns false when the file was busy. */
  pull(): boolean {
    try {
      if (this.#start === undefined) {
        this.startHere()
        this.#wakeAll()
      } else {
        this.#forgetPurged()
        while (this.#pullPage(this.#end()));
      }
    } catch (error) {
      if (isBusy(error)) return false
      this.stopSharing()
    }
    return true
  }

  /** After a failure each reader reads the file, and gets the error when it comes to the damaged place. */
  stopSharing(): void {
    this.#entries = []
    this.#start = undefined
    this.#wakeAll()
  }

  /** Drops what is in memory, because some of it was erased or purged. Readers read the file again. */
  forget(): void {
    this.removals++
    if (this.#start !== undefined) this.#start = this.#end()
    this.#entries = []
  }

  /** Returns whether there is more. */
  #pullPage(end: number): boolean {
    const fresh = this.#pages.after(end)
    if (fresh.some(({ event }) => event.event.type === 'message.erased')) this.forget()
    this.#entries.push(...fresh)
    const dropped = tooManyInTail(this.#entries)
    if (dropped > 0) {
      this.#start = this.#entries[dropped - 1]!.row
      this.#entries = this.#entries.slice(dropped)
    }
    for (const sleeper of [...this.#sleepers]) {
      if (fresh.some(({ event }) => sleeper.isFor(event))) this.#wake(sleeper, end)
    }
    return isFullPage(fresh)
  }

  #wakeAll(): void {
    for (const sleeper of [...this.#sleepers]) this.#wake(sleeper, 0)
  }

  #wake(sleeper: Sleeper, end: number): void {
    this.#sleepers.delete(sleeper)
    sleeper.wake(end)
  }

  /** Another process may have purged events that are in memory. */
  #forgetPurged(): void {
    const newest = this.#pages.newestPurge()
    if (newest !== this.#newestPurge) this.forget()
    this.#newestPurge = newest
  }

  #end(): number {
    return this.#entries.at(-1)?.row ?? this.#start ?? 0
  }

  #indexAfter(row: number): number {
    let low = 0
    let high = this.#entries.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.#entries[middle]!.row <= row) low = middle + 1
      else high = middle
    }
    return low
  }
}
