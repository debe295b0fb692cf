/**
 * Ordered subscriptions. Each reader is a cursor over positions. Commits of this process wake readers at once; those of
 * other processes are noticed by polling `data_version`.
 */
import { setImmediate as breathe, setTimeout as pause } from 'node:timers/promises'
import type { SubscribeOptions } from '../../../log/event-log.ts'
import type { RecordedEvent } from '../../../log/events/recorded-event.ts'
import { isFullPage } from '../../common/feed-limits.ts'
import { asStoreError, isBusy } from '../errors.ts'
import type { HeadStore } from '../heads.ts'
import type { FeedPage, LogPages } from './log-pages.ts'
import { LogTail, type Sleeper } from './log-tail.ts'

const pollMs = 20

interface SubscriptionsInput {
  path: string
  heads: HeadStore
  pages: LogPages
}

export class Subscriptions {
  readonly #input: SubscriptionsInput
  readonly #tail: LogTail
  readonly #running = new Set<AbortController>()
  #timer: NodeJS.Timeout | undefined
  #seenGeneration = -1
  /** There may be more in the file than was read: it was busy. */
  #isLate = false

  constructor(input: SubscriptionsInput) {
    this.#input = input
    this.#tail = new LogTail(input.pages)
  }

  /** The start is fixed when this is called, not when the first event is asked for. */
  subscribe(options: SubscribeOptions): AsyncIterableIterator<RecordedEvent> {
    const { from = 'now', signal } = options
    const ending = new AbortController()
    const events = this.#events(options, this.#join(ending, from), ending)
    const end = () => this.#leave(ending)
    signal?.addEventListener('abort', end)
    ending.signal.addEventListener('abort', () => signal?.removeEventListener('abort', end))
    if (signal?.aborted) end()
    return {
      next: () => events.next(),
      // A generator that waits for news would only end after them.
      return() {
        end()
        return events.return(undefined)
      },
      [Symbol.asyncIterator]() {
        return this
      },
    }
  }

  /** Called after each commit of this process. */
  wake(): void {
    if (this.#running.size > 0) this.#isLate = !this.#tail.pull()
  }

  /** Called when content was removed. */
  forget(): void {
    this.#tail.forget()
  }

  close(): void {
    for (const ending of [...this.#running]) this.#leave(ending)
  }

  async *#events(
    { project, conversationId }: SubscribeOptions,
    start: number,
    ending: AbortController,
  ): AsyncGenerator<RecordedEvent, undefined> {
    const isFor = (event: RecordedEvent) =>
      event.project === project && (conversationId === undefined || event.conversationId === conversationId)
    let row = start
    try {
      reading: while (!ending.signal.aborted) {
        const { removals } = this.#tail
        const page = this.#pageAfter(row, project, conversationId)
        if (!page) {
          await pause(pollMs)
          continue
        }
        for (const entry of page.entries) {
          // The entries that were read ahead may be removed by now.
          if (this.#tail.removals !== removals || ending.signal.aborted) continue reading
          row = entry.row
          if (isFor(entry.event)) yield entry.event
        }
        const isBehind = page.entries.length === 0 ? page.upTo > row : isFullPage(page.entries)
        row = Math.max(row, page.upTo)
        // A reader that catches up keeps no other waiting.
        if (isBehind) await breathe()
        else if (page.entries.length === 0) row = Math.max(row, await this.#news(isFor, ending.signal))
      }
    } finally {
      this.#leave(ending)
    }
  }

  /** Undefined when the file is busy for a moment. */
  #pageAfter(row: number, project: string, conversationId: string | undefined): FeedPage | undefined {
    try {
      return this.#tail.pageAfter(row, project, conversationId)
    } catch (error) {
      if (isBusy(error)) return undefined
      throw asStoreError(error, this.#input.path)
    }
  }

  /** Resolves when there are events for a reader at the end, with the row up to which there were none. */
  #news(isFor: Sleeper['isFor'], ending: AbortSignal): Promise<number> {
    return new Promise(resolve => {
      const sleeper: Sleeper = {
        isFor,
        wake(end) {
          ending.removeEventListener('abort', stop)
          resolve(end)
        },
      }
      const stop = () => {
        this.#tail.remove(sleeper)
        resolve(0)
      }
      ending.addEventListener('abort', stop)
      this.#tail.add(sleeper)
    })
  }

  #join(ending: AbortController, from: string): number {
    const { pages, path } = this.#input
    try {
      const row = pages.startOf(from)
      if (this.#running.size === 0) this.#tail.startHere()
      this.#running.add(ending)
      // A subscription alone does not keep a program running.
      this.#timer ??= setInterval(() => this.#poll(), pollMs).unref()
      return row
    } catch (error) {
      throw asStoreError(error, path)
    }
  }

  #leave(ending: AbortController): void {
    if (!this.#running.delete(ending)) return
    ending.abort()
    if (this.#running.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  /** An error here would end the process: readers get it when they read. */
  #poll(): void {
    const { heads } = this.#input
    try {
      heads.refresh()
    } catch (error) {
      if (!isBusy(error)) this.#tail.stopSharing()
      return
    }
    if (heads.generation() === this.#seenGeneration && !this.#isLate) return
    this.#seenGeneration = heads.generation()
    this.wake()
  }
}
