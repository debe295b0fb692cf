/** When the full-text index is fed. */

/**
 * When appends pause, so that taking words in does not take turns with a burst that somebody waits for; but a burst that
 * does not end is taken in pieces, so that a search, which takes in the rest first, never has to wait for much.
 */
const feedDelayMs = { pause: 500, longest: 5_000 }

interface Put {
  timer: NodeJS.Timeout
  /** Of the first commit that it has not seen. */
  since: number
  /** Of the last. */
  last: number
}

/** Feeds the index a while after commits that it has not seen. */
export function feedLater(feed: (project: number) => Promise<void>) {
  const puts = new Map<number, Put>()

  function wait(project: number, put: Omit<Put, 'timer'>, ms: number): void {
    puts.set(project, { ...put, timer: setTimeout(look, ms, project).unref() })
  }

  function look(project: number): void {
    const { since, last } = puts.get(project)!
    const now = performance.now()
    const due = Math.min(last + feedDelayMs.pause, since + feedDelayMs.longest)
    if (now < due) {
      wait(project, { since, last }, due - now)
      return
    }
    puts.delete(project)
    // Failing here loses nothing: the next search feeds the index itself.
    feed(project).catch(() => undefined)
  }

  return {
    soon(project: number): void {
      const now = performance.now()
      const put = puts.get(project)
      if (put) put.last = now
      else wait(project, { since: now, last: now }, feedDelayMs.pause)
    },
    /** Feeds at once what was put off. */
    async finish(): Promise<void> {
      for (const { timer } of puts.values()) clearTimeout(timer)
      await Promise.allSettled([...puts.keys()].map(feed))
    },
  }
}
