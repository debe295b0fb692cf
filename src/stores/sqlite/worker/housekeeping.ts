/** Tells the worker when to feed the index, to tidy it, and to move the write-ahead log into the file. */
import type { Writer } from '../write/writer.ts'
import type { WorkerClient } from './client.ts'

/** The index is fed this long after an append, or when as many events wait as make a good batch. */
const feedDelayMs = 250
const eventsPerFeed = 500
/** The index is tidied after this long without a write or a search. */
const idleMs = 1000
/** Erased content that could not be overwritten is tried again after this long. */
const scrubDelayMs = 1000
/** After about this many pages the write-ahead log is moved into the file: half of what it is grown to. */
const pagesPerCheckpoint = 2000
const charactersPerPage = 4000
/** A checkpoint that could not start the log over is tried again after half as many pages. */
const pagesBeforeRetry = pagesPerCheckpoint / 2

export class Housekeeping {
  readonly #worker: WorkerClient
  readonly #readOnly: boolean
  readonly #standAsideFor: Writer['standAsideFor']
  /** Pages written to the log since the last checkpoint, about. */
  #pages = 0
  #unfedEvents = 0
  /** Feeding and checkpoints run one at a time: a quick one would wait in the worker for a batch of the index. */
  #isBusy = false
  #isStopped = false
  readonly #timers: { feed?: NodeJS.Timeout | undefined; idle?: NodeJS.Timeout; scrub?: NodeJS.Timeout | undefined } =
    {}

  constructor({
    worker,
    readOnly,
    standAsideFor,
  }: {
    worker: WorkerClient
    readOnly: boolean
    standAsideFor: Writer['standAsideFor']
  }) {
    this.#worker = worker
    this.#readOnly = readOnly
    this.#standAsideFor = standAsideFor
  }

  stored(characters: number): void {
    this.#pages += characters / charactersPerPage
  }

  committed(events: number): void {
    // A commit writes the ends of the log and of its indexes besides the bodies.
    this.#pages += 2 + events / 6
    this.#unfedEvents += events
    this.#next()
  }

  searched(): void {
    this.#tidyWhenIdle()
  }

  /** Overwrites removed content again and again until no reader holds the log that has it. */
  scrubLater(): void {
    this.#timers.scrub ??= setTimeout(async () => {
      this.#timers.scrub = undefined
      if (!this.#isStopped && !(await optional(this.#worker.call('scrub', undefined)))) this.scrubLater()
    }, scrubDelayMs).unref()
  }

  stop(): void {
    this.#isStopped = true
    for (const timer of Object.values(this.#timers)) clearTimeout(timer)
  }

  #next(): void {
    if (this.#isStopped || this.#isBusy) return
    if (this.#pages >= pagesPerCheckpoint) void this.#run(() => this.#checkpoint())
    else if (this.#unfedEvents >= eventsPerFeed) void this.#run(() => this.#feed())
    else if (this.#unfedEvents > 0) {
      this.#timers.feed ??= setTimeout(() => {
        this.#timers.feed = undefined
        void this.#run(() => this.#feed())
      }, feedDelayMs).unref()
    }
  }

  async #run(work: () => Promise<void>): Promise<void> {
    if (this.#isBusy) return
    this.#isBusy = true
    await work()
    this.#isBusy = false
    this.#next()
    this.#tidyWhenIdle()
  }

  async #feed(): Promise<void> {
    clearTimeout(this.#timers.feed)
    this.#timers.feed = undefined
    this.#unfedEvents = 0
    const tookAll = await optional(this.#worker.call('feed', undefined))
    if (tookAll === false) this.#unfedEvents += eventsPerFeed
  }

  /** Copies most of the log while writers go on. They stand aside only for what came meanwhile. */
  async #checkpoint(): Promise<void> {
    this.#pages = 0
    await optional(this.#worker.call('copyLog', undefined))
    const finished = this.#worker.call('finishLog', undefined)
    this.#standAsideFor(finished)
    if (!(await optional(finished))) this.#pages = pagesBeforeRetry
  }

  #tidyWhenIdle(): void {
    if (this.#isStopped || this.#readOnly) return
    clearTimeout(this.#timers.idle)
    this.#timers.idle = setTimeout(() => void this.#tidy(), idleMs).unref()
  }

  /** Tidies in steps, so that a write or a close waits for one step at most. */
  async #tidy(): Promise<void> {
    while (!this.#isStopped && !this.#isBusy && this.#unfedEvents === 0) {
      if (!(await optional(this.#worker.call('tidy', undefined)))) return
    }
  }
}

/** Gives undefined for work that failed. Nothing is lost: a search feeds the index itself, and later commits ask again. */
function optional<T>(work: Promise<T>): Promise<T | undefined> {
  return work.catch(() => undefined)
}
