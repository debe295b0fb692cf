/** When the full-text index is fed. */

/** When appends pause, so that a burst is taken in few batches. */
const feedDelayMs = 500

/** Feeds the index a while after the first commit that it has not seen. */
export function feedLater(feed: (project: number) => Promise<void>) {
  const timers = new Map<number, NodeJS.Timeout>()
  return {
    soon(project: number): void {
      if (timers.has(project)) return
      const timer = setTimeout(() => {
        timers.delete(project)
        // Failing here loses nothing: the next search feeds the index itself.
        feed(project).catch(() => undefined)
      }, feedDelayMs).unref()
      timers.set(project, timer)
    },
    /** Feeds at once what was put off. */
    async finish(): Promise<void> {
      for (const timer of timers.values()) clearTimeout(timer)
      await Promise.allSettled([...timers.keys()].map(feed))
    },
  }
}
