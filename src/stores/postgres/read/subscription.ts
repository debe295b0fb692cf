/** One subscription: a cursor over positions. */
import type { RecordedEvent } from '../../../log/events/recorded-event.ts'
import { isAfter, type Place } from '../position.ts'
import type { Entry, Start } from './log-pages.ts'
import type { ProjectFeed } from './project-feed.ts'

export interface SubscriptionInput {
  feed: ProjectFeed
  /** Only what happens in this conversation. */
  conversationId: string | undefined
  signal: AbortSignal | undefined
  /** Fixed when the subscription is made, not when the first event is asked for. */
  start: Promise<Start>
  isClosed(): boolean
  /** Grows whenever content was removed: entries that were read ahead may be gone. */
  removals(): number
  asError(error: unknown): Error
  /** Called once, when it ends. */
  ended(): void
}

export class Subscription implements AsyncIterableIterator<RecordedEvent> {
  readonly #input: SubscriptionInput
  readonly #wakeUps = new Set<() => void>()
  readonly #end = () => this.#finish()
  #hasEnded = false
  #place: Place | undefined
  #ahead: Entry[] = []
  #index = 0
  #seenRemovals: number

  constructor(input: SubscriptionInput) {
    this.#input = input
    this.#seenRemovals = input.removals()
    input.signal?.addEventListener('abort', this.#end)
    if (input.signal?.aborted) this.#finish()
  }

  async next(): Promise<IteratorResult<RecordedEvent, undefined>> {
    try {
      const { place, wasThere } = await this.#input.start
      this.#place ??= place
      while (this.#goesOn()) {
        const entry = this.#takeAhead()
        if (!entry) await this.#readAhead()
        else if (isAfter(entry.place, this.#place)) {
          this.#place = entry.place
          if (this.#isWanted(entry) && !wasThere(entry.place.tx)) return { done: false, value: entry.event }
        }
      }
    } catch (error) {
      if (!this.#input.isClosed()) {
        this.#finish()
        throw this.#input.asError(error)
      }
    }
    this.#finish()
    return { done: true, value: undefined }
  }

  async return(): Promise<IteratorResult<RecordedEvent, undefined>> {
    this.#finish()
    return { done: true, value: undefined }
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  #goesOn(): boolean {
    return !this.#hasEnded && !this.#input.isClosed()
  }

  #isWanted({ event }: Entry): boolean {
    const { conversationId } = this.#input
    return conversationId === undefined || event.conversationId === conversationId
  }

  #takeAhead(): Entry | undefined {
    const removals = this.#input.removals()
    if (this.#seenRemovals !== removals) {
      this.#seenRemovals = removals
      this.#ahead = []
      this.#index = 0
    }
    return this.#ahead[this.#index++]
  }

  async #readAhead(): Promise<void> {
    this.#ahead = []
    this.#index = 0
    const before = this.#input.removals()
    const entries = await this.#input.feed.entriesAfter(this.#place!)
    if (this.#input.removals() !== before) return
    this.#ahead = entries
    if (entries.length === 0 && this.#goesOn()) await this.#waitForNews()
  }

  #waitForNews(): Promise<void> {
    const { feed } = this.#input
    return new Promise<void>(resolve => {
      const wakeUp = () => {
        this.#wakeUps.delete(wakeUp)
        feed.removeWaiting(wakeUp)
        resolve()
      }
      this.#wakeUps.add(wakeUp)
      feed.onNews(wakeUp)
    })
  }

  #finish(): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#input.ended()
    this.#input.signal?.removeEventListener('abort', this.#end)
    for (const wakeUp of this.#wakeUps) wakeUp()
  }
}
