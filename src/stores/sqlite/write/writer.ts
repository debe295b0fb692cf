/**
 * Group commit: everything asked for in one tick shares one transaction and one sync, and each caller hears back after
 * the commit. All writing of the engine's connection goes through here.
 *
 * The write lock is taken up front. When another process has it we try again a moment later without blocking the event
 * loop, and after a commit we step aside briefly if others are writing, so that nobody starves.
 */
import { ColloquyError, StoreBusy, StoreClosed } from '../../../errors.ts'
import type { WriteQueue } from '../../../log/store.ts'
import type { Database } from '../database.ts'
import { asStoreError, isBusy } from '../errors.ts'

/** Something to do inside the write transaction. It throws before it writes, or not at all. */
export type Write<T> = () => T

export interface Writer {
  /** `lightly` does the same in a single statement if that is all there is to do, else gives undefined. */
  submit<T>(write: Write<T>, lightly?: Write<T | undefined>): Promise<T>
  queue(): WriteQueue
  /** Begins no transaction until the work is done, or for a moment at most if it takes longer. */
  standAsideFor(work: Promise<unknown>): void
  /** Resolves when nothing is waiting any more; refuses what comes later. */
  close(): Promise<void>
}

interface Waiting {
  write: Write<unknown>
  lightly: Write<unknown> | undefined
  resolve(value: unknown): void
  reject(error: Error): void
  deadline: number
  /** It shared a transaction that failed, and is tried again alone. */
  alone: boolean
  /** What to answer after the commit. */
  value: unknown
  refusal: ColloquyError | undefined
}

/** More than this in one transaction would hold the lock, and the event loop, for too long. */
const largestGroup = 256
/** Whoever writes waits no longer than this for work that wants the lock to itself. */
const mostAsideMs = 25

export function writer({
  database,
  busyTimeoutMs,
  prepare,
  begun,
  transactionsFirst,
  refresh,
  forget,
  committed,
}: {
  database: Database
  busyTimeoutMs: number
  /** Called once before the first transaction; may be refused as busy and is then called again. */
  prepare(): void
  /** Called inside each transaction before anything is written, with the number of transactions so far. */
  begun(transactions: number): void
  /** So many writes get a transaction of their own before single statements may do. */
  transactionsFirst: number
  /** Drops what is kept in memory if another process wrote; true if it did. */
  refresh(): boolean
  /** Drops what is kept in memory because the transaction it came from is gone. */
  forget(): void
  /** Called after each commit with the number of writes in it. */
  committed(writes: number): void
}): Writer {
  const sql = {
    begin: database.prepare('begin immediate'),
    commit: database.prepare('commit'),
  }
  let queue: Waiting[] = []
  /** The most that waited since somebody last asked. */
  let most = 0
  let scheduled = false
  /** How many shared the last transaction. */
  let lastGroup = 0
  let closed = false
  let isAside = false
  let transactions = 0
  let idle: (() => void) | undefined

  function submit<T>(write: Write<T>, lightly?: Write<T | undefined>): Promise<T> {
    if (closed) return Promise.reject(new StoreClosed())
    return new Promise<T>((resolve, reject) => {
      queue.push({
        write,
        lightly,
        resolve: resolve as (value: unknown) => void,
        reject,
        deadline: performance.now() + busyTimeoutMs,
        alone: false,
        value: undefined,
        refusal: undefined,
      })
      if (queue.length > most) most = queue.length
      if (!scheduled) schedule(0)
    })
  }

  /** Where several wrote together, more are on their way: one turn of the event loop later they share the same sync. */
  const gather = () => setImmediate(flush)

  function schedule(afterMs: number): void {
    scheduled = true
    if (afterMs === 0) setImmediate(lastGroup > 1 ? gather : flush)
    else setTimeout(flush, afterMs)
  }

  function flush(): void {
    scheduled = false
    if (queue.length === 0) {
      idle?.()
      return
    }
    if (isAside) return
    if (queue.length === 1 && transactions >= transactionsFirst && wroteLightly(queue[0]!)) {
      lastGroup = 1
      return
    }
    try {
      if (transactions === 0) prepare()
      sql.begin.run()
    } catch (error) {
      if (isBusy(error)) waitForLock()
      else refuseAll(asStoreError(error, database.path))
      return
    }
    const group = queue[0]?.alone ? queue.splice(0, 1) : queue.splice(0, largestGroup)
    lastGroup = group.length
    const othersWrote = writeGroup(group)
    if (queue.length > 0) schedule(othersWrote ? 1 + Math.random() * 2 : 0)
    else idle?.()
  }

  /**
   * A single write that is a single statement needs no transaction of its own. If it was refused for whatever reason,
   * nothing was written, and the long way finds out why.
   */
  function wroteLightly(waiting: Waiting): boolean {
    if (!waiting.lightly) return false
    try {
      if (refresh()) return false
      const value = waiting.lightly()
      if (value === undefined) return false
      database.settle()
      queue = []
      waiting.resolve(value)
    } catch {
      forget()
      return false
    }
    committed(1)
    idle?.()
    return true
  }

  /** Returns whether another process wrote since our last commit. */
  function writeGroup(group: Waiting[]): boolean {
    let othersWrote = false
    try {
      othersWrote = refresh()
      begun(++transactions)
      for (const waiting of group) {
        try {
          waiting.value = waiting.write()
        } catch (error) {
          // A refusal wrote nothing, so the others go on. Anything else leaves the transaction in doubt.
          if (!(error instanceof ColloquyError)) throw error
          waiting.refusal = error
        }
      }
      sql.commit.run()
    } catch (error) {
      rollBack()
      fail(group, error)
      return othersWrote
    }
    for (const waiting of group) {
      if (waiting.refusal) waiting.reject(waiting.refusal)
      else waiting.resolve(waiting.value)
    }
    committed(group.length)
    return othersWrote
  }

  function rollBack(): void {
    try {
      database.rollback()
    } catch {
      // A failed commit may have rolled back by itself; there is nothing left to undo then.
    }
    forget()
  }

  /** One bad write must not take the others of its group with it: each gets a transaction of its own. */
  function fail(group: Waiting[], error: unknown): void {
    if (group.length === 1) group[0]!.reject(asStoreError(error, database.path))
    else queue = [...group.map(waiting => ({ ...waiting, alone: true, refusal: undefined })), ...queue]
  }

  function waitForLock(): void {
    const now = performance.now()
    const late = queue.filter(waiting => waiting.deadline <= now)
    if (late.length > 0) {
      queue = queue.filter(waiting => waiting.deadline > now)
      const message = `Another process held the write lock of ${database.path} for ${busyTimeoutMs} ms. Nothing was written; try again.`
      for (const waiting of late) waiting.reject(new StoreBusy(message, { path: database.path }))
    }
    if (queue.length > 0) schedule(1 + Math.random() * 3)
    else idle?.()
  }

  function refuseAll(error: Error): void {
    const refused = queue
    queue = []
    for (const waiting of refused) waiting.reject(error)
    idle?.()
  }

  function standAsideFor(work: Promise<unknown>): void {
    isAside = true
    const goOn = () => {
      clearTimeout(timer)
      isAside = false
      if (queue.length > 0 && !scheduled) schedule(0)
    }
    const timer = setTimeout(goOn, mostAsideMs)
    work.then(goOn, goOn)
  }

  async function close(): Promise<void> {
    closed = true
    if (queue.length > 0 || scheduled) await new Promise<void>(resolve => (idle = resolve))
  }

  return {
    submit,
    queue() {
      const seen = { waiting: queue.length, most }
      most = queue.length
      return seen
    },
    standAsideFor,
    close,
  }
}
