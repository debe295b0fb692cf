/**
 * Group commit: everything asked for in one turn of the event loop shares one transaction and one sync, and each caller
 * is answered after the commit. All writing of the engine's connection goes through here.
 *
 * The write lock is taken up front. When another process has it, the writer tries again a moment later without blocking
 * the event loop. After a commit it pauses briefly if others are writing, so that no process starves.
 */
import { ColloquyError, StoreBusy, StoreClosed } from '../../../errors.ts'
import type { WriteQueue } from '../../../log/store.ts'
import type { Database } from '../database.ts'
import { asStoreError, isBusy } from '../errors.ts'
import { rollBack } from '../transaction.ts'

/** Work inside the write transaction. It throws before it writes, or not at all. */
export type Write<T> = () => T

interface Waiting {
  write: Write<unknown>
  resolve(value: unknown): void
  reject(error: Error): void
  deadline: number
  /** Its group failed; it is tried again without the others. */
  isAlone: boolean
}

type Outcome = { value: unknown } | { refusal: ColloquyError }

export interface WriterInput {
  database: Database
  /** A write that waits longer for the lock is refused. */
  busyTimeoutMs: number
  /** Called once before the first transaction; may be refused as busy and is then called again. */
  prepare(): void
  /** Called inside each transaction before anything is written. Returns whether another process wrote since the last. */
  begun(): boolean
  /** Called when a transaction failed: heads that were changed in it must be dropped. */
  failed(): void
  /** Called after each commit with the number of writes in it. */
  committed(writes: number): void
}

/** More in one transaction would hold the lock, and the event loop, for too long. */
const maxGroup = 256
/** Writes wait no longer than this for work that wants the lock to itself. */
const maxAsideMs = 25

export class Writer {
  readonly #input: WriterInput
  #queue: Waiting[] = []
  /** The most that waited since `size` was last called. */
  #most = 0
  #isScheduled = false
  #isPrepared = false
  #lastGroup = 0
  #isAside = false
  #isClosed = false
  #whenIdle: (() => void) | undefined

  constructor(input: WriterInput) {
    this.#input = input
  }

  /** Runs a write inside the next transaction and resolves when it is durable. */
  submit<T>(write: Write<T>): Promise<T> {
    if (this.#isClosed) return Promise.reject(new StoreClosed())
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({
        write,
        resolve: resolve as (value: unknown) => void,
        reject,
        deadline: performance.now() + this.#input.busyTimeoutMs,
        isAlone: false,
      })
      this.#most = Math.max(this.#most, this.#queue.length)
      this.#schedule(0)
    })
  }

  size(): WriteQueue {
    const waiting = this.#queue.length
    const most = this.#most
    this.#most = waiting
    return { waiting, most }
  }

  /** Begins no transaction until the work is done, or for a moment at most if it takes longer. */
  standAsideFor(work: Promise<unknown>): void {
    this.#isAside = true
    const goOn = () => {
      clearTimeout(timer)
      this.#isAside = false
      this.#schedule(0)
    }
    const timer = setTimeout(goOn, maxAsideMs)
    work.then(goOn, goOn)
  }

  /** Resolves when nothing is waiting any more; refuses what comes later. */
  async close(): Promise<void> {
    this.#isClosed = true
    if (this.#queue.length > 0 || this.#isScheduled) await new Promise<void>(resolve => (this.#whenIdle = resolve))
  }

  #schedule(afterMs: number): void {
    if (this.#isScheduled || this.#queue.length === 0) return
    this.#isScheduled = true
    const flush = () => {
      this.#isScheduled = false
      this.#flush()
      if (this.#queue.length === 0) this.#whenIdle?.()
    }
    if (afterMs > 0) setTimeout(flush, afterMs)
    // After a group, more writes are likely on their way: one turn of the event loop later they share the same sync.
    else setImmediate(this.#lastGroup > 1 ? () => setImmediate(flush) : flush)
  }

  #flush(): void {
    if (this.#isAside || this.#queue.length === 0) return
    const { database, prepare } = this.#input
    try {
      if (!this.#isPrepared) prepare()
      this.#isPrepared = true
      database.exec('begin immediate')
    } catch (error) {
      if (isBusy(error)) this.#waitForLock()
      else for (const { reject } of this.#queue.splice(0)) reject(asStoreError(error, database.path))
      return
    }
    const group = this.#queue.splice(0, this.#queue[0]!.isAlone ? 1 : maxGroup)
    this.#lastGroup = group.length
    const othersWrote = this.#writeGroup(group)
    this.#schedule(othersWrote ? 1 + Math.random() * 2 : 0)
  }

  /** Returns whether another process wrote since the last commit. */
  #writeGroup(group: readonly Waiting[]): boolean {
    const { database, begun, failed, committed } = this.#input
    let othersWrote = false
    let outcomes: Outcome[]
    try {
      othersWrote = begun()
      outcomes = group.map(({ write }) => outcomeOf(write))
      database.exec('commit')
    } catch (error) {
      rollBack(database)
      failed()
      // One bad write must not take the others of its group with it.
      if (group.length === 1) group[0]!.reject(asStoreError(error, database.path))
      else this.#queue.unshift(...group.map(waiting => ({ ...waiting, isAlone: true })))
      return othersWrote
    }
    for (const [index, outcome] of outcomes.entries()) {
      if ('refusal' in outcome) group[index]!.reject(outcome.refusal)
      else group[index]!.resolve(outcome.value)
    }
    committed(group.length)
    return othersWrote
  }

  #waitForLock(): void {
    const { database, busyTimeoutMs } = this.#input
    const now = performance.now()
    const late = this.#queue.filter(({ deadline }) => deadline <= now)
    this.#queue = this.#queue.filter(({ deadline }) => deadline > now)
    const message = `Another process held the write lock of ${database.path} for ${busyTimeoutMs} ms. Nothing was written; try again.`
    for (const { reject } of late) reject(new StoreBusy(message, { path: database.path }))
    this.#schedule(1 + Math.random() * 3)
  }
}

/** A refusal wrote nothing, so the others of the group go on. Any other error leaves the transaction in doubt. */
function outcomeOf(write: Write<unknown>): Outcome {
  try {
    return { value: write() }
  } catch (error) {
    if (!(error instanceof ColloquyError)) throw error
    return { refusal: error }
  }
}
