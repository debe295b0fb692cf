/** Feeds the index, brings it in order and moves the write-ahead log when it is due, beside the engine's thread. */
import type { Beside } from './beside/client.ts'

/** The index is fed a moment behind the appends, or when as many wait as make a good batch. */
const feedDelayMs = 250
const feedAtOnce = 500
/** It is brought in order when nobody has written or searched for so long. */
const idleMs = 1000
/** After about this many pages the write-ahead log is worth moving into the file; half of what it is grown to. */
const pagesPerCheckpoint = 2000

export function keepHouse(side: Beside, { readOnly }: { readOnly: boolean }) {
  let pages = 0
  let unfed = 0
  let isFeeding = false
  let isStopped = false
  let timer: NodeJS.Timeout | undefined
  let idle: NodeJS.Timeout | undefined
  // Failing here loses nothing: the next search feeds the index itself, the next commits ask again.
  const quietly = <T>(work: Promise<T>) => work.catch(() => undefined)

  async function feed(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    unfed = 0
    isFeeding = true
    await quietly(side.call('feed', undefined))
    isFeeding = false
    feedWhenDue()
    tidyWhenIdle()
  }

  function feedWhenDue(): void {
    if (isStopped || isFeeding || unfed === 0) return
    if (unfed >= feedAtOnce) void feed()
    else timer ??= setTimeout(feed, feedDelayMs).unref()
  }

  function tidyWhenIdle(): void {
    if (isStopped || readOnly) return
    clearTimeout(idle)
    idle = setTimeout(tidy, idleMs).unref()
  }

  /** Step by step, and none while there is something to feed: whoever writes or closes waits for one step at most. */
  async function tidy(): Promise<void> {
    while (!isStopped && !isFeeding && unfed === 0) {
      if (!(await quietly(side.call('tidy', undefined)))) return
    }
  }

  return {
    committed(writes: number) {
      // A commit writes the end of the log and of `recent`; three messages more fill or touch a page more.
      pages += 2 + writes / 3
      if (pages >= pagesPerCheckpoint) {
        pages = 0
        quietly(side.call('checkpoint', undefined))
      }
      unfed += writes
      feedWhenDue()
    },
    searched: tidyWhenIdle,
    stop() {
      isStopped = true
      clearTimeout(timer)
      clearTimeout(idle)
    },
  }
}
