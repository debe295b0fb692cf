/**
 * Feeds the full-text index when appends pause, so that feeding does not take turns with a burst. A burst that does not
 * end is taken in pieces, so that a search, which takes in the rest first, never has to wait for much.
 */

const feedDelayMs = { pause: 500, longest: 5_000 }

interface Delay {
  timer: NodeJS.Timeout
  /** Times of the first and the last commit that the feed has not seen. */
  since: number
  last: number
}

export class FeedTimer {
  readonly #feed: (project: number) => Promise<void>
  readonly #delays = new Map<number, Delay>()

  constructor(feed: (project: number) => Promise<void>) {
    this.#feed = feed
  }

  /** Feeds a project in a while, after a commit. */
  start(project: number): void {
    const now = performance.now()
    const delay = this.#delays.get(project)
    if (delay) delay.last = now
    else this.#wait(project, { since: now, last: now }, feedDelayMs.pause)
  }

  /** Feeds at once what was delayed. */
  async finish(): Promise<void> {
    for (const { timer } of this.#delays.values()) clearTimeout(timer)
    await Promise.allSettled([...this.#delays.keys()].map(this.#feed))
  }

  #wait(project: number, times: Omit<Delay, 'timer'>, ms: number): void {
    const timer = setTimeout(() => this.#look(project), ms).unref()
    this.#delays.set(project, { ...times, timer })
  }

  #look(project: number): void {
    const { since, last } = this.#delays.get(project)!
    const now = performance.now()
    const due = Math.min(last + feedDelayMs.pause, since + feedDelayMs.longest)
    if (now < due) {
      this.#wait(project, { since, last }, due - now)
      return
    }
    this.#delays.delete(project)
    // Failing here loses nothing: the next search feeds the index itself.
    this.#feed(project).catch(() => undefined)
  }
}
