/** Feeds the index, brings it in order and moves the write-ahead log when it is due, beside the engine's thread. */

import type { Writer } from '../write/writer.ts'
import type { Beside } from './client.ts'

/** The index is fed a moment behind the appends, or when as many wait as make a good batch. */
const feedDelayMs = 250
const feedAtOnce = 500
/** It is brought in order when nobody has written or searched for so long. */
const idleMs = 1000
/** Content that could not be overwritten at once is tried again after so long. */
const scrubEveryMs = 1000
/** After about this many pages the write-ahead log is worth moving into the file; half of what it is grown to. */
const pagesPerCheckpoint = 2000
const charactersPerPage = 4000
/** If it could not be started over, it is tried again after half as many. */
const pagesBeforeNextTry = pagesPerCheckpoint / 2

export function keepHouse({
  side,
  readOnly,
  standAsideFor,
}: {
  side: Beside
  readOnly: boolean
  standAsideFor: Writer['standAsideFor']
}) {
  let pages = 0
  let unfed = 0
  /** One thing at a time, or what should be quick would wait for a batch of the index. */
  let isAtWork = false
  let isStopped = false
  let timer: NodeJS.Timeout | undefined
  let idle: NodeJS.Timeout | undefined
  let again: NodeJS.Timeout | undefined
  // Failing here loses nothing: the next search feeds the index itself, the next commits ask again.
  const quietly = <T>(work: Promise<T>) => work.catch(() => undefined)

  function goOn(): void {
    if (isStopped || isAtWork) return
    if (pages >= pagesPerCheckpoint) void oneByOne(checkpoint)
    else if (unfed >= feedAtOnce) void oneByOne(feed)
    else if (unfed > 0) timer ??= setTimeout(feedSoon, feedDelayMs).unref()
  }

  async function oneByOne(work: () => Promise<void>): Promise<void> {
    if (isAtWork) return
    isAtWork = true
    await work()
    isAtWork = false
    goOn()
    tidyWhenIdle()
  }

  function feedSoon(): void {
    timer = undefined
    void oneByOne(feed)
  }

  async function feed(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    unfed = 0
    const tookAll = await quietly(side.call('feed', undefined))
    if (tookAll === false) unfed += feedAtOnce
  }

  /** Most of it beside the writers; only for the little that came meanwhile they are asked to wait. */
  async function checkpoint(): Promise<void> {
    pages = 0
    await quietly(side.call('copyLog', undefined))
    const finished = side.call('finishLog', undefined)
    standAsideFor(finished)
    if (!(await quietly(finished))) pages = pagesBeforeNextTry
  }

  function tidyWhenIdle(): void {
    if (isStopped || readOnly) return
    clearTimeout(idle)
    idle = setTimeout(tidy, idleMs).unref()
  }

  /** Step by step, and none while there is something to feed: whoever writes or closes waits for one step at most. */
  async function tidy(): Promise<void> {
    while (!isStopped && !isAtWork && unfed === 0) {
      if (!(await quietly(side.call('tidy', undefined)))) return
    }
  }

  /** Content that was removed may stand in a log that somebody reads: tried until it is gone. */
  function scrubLater(): void {
    again ??= setTimeout(async () => {
      again = undefined
      if (!isStopped && !(await quietly(side.call('scrub', undefined)))) scrubLater()
    }, scrubEveryMs).unref()
  }

  return {
    stored(characters: number) {
      pages += characters / charactersPerPage
    },
    committed(writes: number) {
      // Beside what they say, a commit writes the end of the log and of `recent`; six messages more touch a page more.
      pages += 2 + writes / 6
      unfed += writes
      goOn()
    },
    searched: tidyWhenIdle,
    scrubLater,
    stop() {
      isStopped = true
      clearTimeout(again)
      clearTimeout(timer)
      clearTimeout(idle)
    },
  }
}
