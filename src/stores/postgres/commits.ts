/** The work behind a commit: subscribers are woken, other nodes are notified, the full-text index is fed later. */
import type { Projects } from './projects.ts'
import type { notifications } from './read/notifications.ts'
import type { Subscriptions } from './read/subscribe.ts'
import type { FeedTimer } from './search/feed-timer.ts'
import type { keepStatistics } from './upkeep/statistics.ts'

interface Listeners {
  projects: Projects
  subscriptions: Pick<Subscriptions, 'wake'>
  notifications: Pick<ReturnType<typeof notifications>, 'tell'>
  feedTimer: Pick<FeedTimer, 'start'>
  statistics: ReturnType<typeof keepStatistics>
}

export class Commits {
  readonly #listeners: Listeners
  readonly #projects = new Set<string>()
  #events = 0

  constructor(listeners: Listeners) {
    this.#listeners = listeners
  }

  /** Takes note of a commit. The callers that wait for its answer have it first. */
  add(projects: Iterable<string>, events = 1): void {
    if (this.#projects.size === 0) setImmediate(() => this.flush())
    for (const project of projects) this.#projects.add(project)
    this.#events += events
  }

  flush(): void {
    const { projects, subscriptions, notifications, feedTimer, statistics } = this.#listeners
    const written = [...this.#projects]
    statistics.grown(this.#events)
    this.#projects.clear()
    this.#events = 0
    for (const project of written) {
      subscriptions.wake(project)
      const number = projects.known(project)
      if (number === undefined) continue
      notifications.tell(number)
      feedTimer.start(number)
    }
  }
}
