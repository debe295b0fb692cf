/**
 * The loaded part of a log: pages of events around the visible rows. Other pages are released, so that memory does not
 * grow with the log.
 */
import type { LiveEvent, RecordedEvent } from 'colloquy/client'
import { oncePerFrame } from '../connection/store.ts'

/** The fields of an event that a row needs. */
export type LogEvent = Pick<RecordedEvent, 'version' | 'at' | 'actor' | 'channel' | 'event'>

type LogReader = (from: number, to: number, signal: AbortSignal) => Promise<readonly LogEvent[]>

interface Page {
  events: Map<number, LogEvent>
  isLoading: boolean
  /** Everything up to here was requested: a missing event does not exist. */
  readUpTo: number
  /** Counter of the last use; the page with the smallest is released first. */
  usedAt: number
}

export const pageSize = 100
const keptPages = 20

export class LogPages {
  readonly #read: LogReader
  readonly #pages = new Map<number, Page>()
  readonly #listeners = new Set<() => void>()
  readonly #end = new AbortController()
  readonly #pace = oncePerFrame()
  #uses = 0
  #state = 0
  #error: unknown

  constructor(read: LogReader) {
    this.#read = read
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Changes with every update. */
  readonly state = (): number => this.#state

  get error(): unknown {
    return this.#error
  }

  /** Number of events kept. */
  get size(): number {
    let size = 0
    for (const { events } of this.#pages.values()) size += events.size
    return size
  }

  get(version: number): LogEvent | undefined {
    return this.#pages.get(pageOf(version))?.events.get(version)
  }

  /** Loads missing events of a range and releases pages far from it. */
  want(from: number, to: number): void {
    if (this.#error !== undefined) return
    for (let number = pageOf(from); number <= pageOf(to); number++) {
      const first = Math.max(from, number * pageSize + 1)
      const last = Math.min(to, (number + 1) * pageSize)
      const page = this.#pages.get(number)
      if (page) page.usedAt = ++this.#uses
      if (page?.isLoading || (page && (page.readUpTo >= last || hasAll(page, first, last)))) continue
      void this.#load(number, last)
    }
    this.#letGo()
  }

  /** Adds a live event. One without content is loaded when it becomes visible. */
  put(live: LiveEvent): void {
    const { version, at, actor, channel, event } = live
    if (live.type === 'message.erased') this.#forget((event as { version?: number } | undefined)?.version)
    if (event === undefined) return
    const page = this.#page(pageOf(version))
    page.events.set(version, { version, at, actor, channel, event: event as unknown as LogEvent['event'] })
    this.#changed()
  }

  /** Retries failed reads. */
  retry(): void {
    this.#error = undefined
    this.#changed()
  }

  close(): void {
    this.#end.abort()
  }

  async #load(number: number, last: number): Promise<void> {
    const page = this.#page(number)
    page.isLoading = true
    page.readUpTo = last
    try {
      const from = number * pageSize + 1
      const events = await this.#read(from, from + pageSize - 1, this.#end.signal)
      for (const event of events) page.events.set(event.version, event)
      this.#error = undefined
    } catch (error) {
      if (this.#end.signal.aborted) return
      page.readUpTo = 0
      this.#error = error
    } finally {
      page.isLoading = false
    }
    this.#changed()
  }

  #page(number: number): Page {
    const known = this.#pages.get(number)
    if (known) return known
    const page: Page = { events: new Map(), isLoading: false, readUpTo: 0, usedAt: ++this.#uses }
    this.#pages.set(number, page)
    return page
  }

  #forget(version: number | undefined): void {
    const page = version === undefined ? undefined : this.#pages.get(pageOf(version))
    if (!page || version === undefined) return
    page.events.delete(version)
    page.readUpTo = 0
  }

  #letGo(): void {
    if (this.#pages.size <= keptPages) return
    const oldest = [...this.#pages].filter(([, page]) => !page.isLoading).sort(([, a], [, b]) => a.usedAt - b.usedAt)
    for (const [number] of oldest.slice(0, this.#pages.size - keptPages)) this.#pages.delete(number)
  }

  #changed(): void {
    this.#state++
    this.#pace(() => {
      for (const listener of [...this.#listeners]) listener()
    })
  }
}

function pageOf(version: number): number {
  return Math.floor((version - 1) / pageSize)
}

function hasAll({ events }: Page, from: number, to: number): boolean {
  for (let version = from; version <= to; version++) if (!events.has(version)) return false
  return true
}
