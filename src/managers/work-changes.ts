/** Says when something about work has changed, to those who look for work: one subscription, however often they ask. */
import { setTimeout as wait } from 'node:timers/promises'
import type { StoredEvent } from '../events/event.ts'
import type { RecordedEvent } from '../events/recorded.ts'
import type { Store } from '../log/store.ts'

export interface WorkChanges {
  /** Whether something was parked, or went on, or waits for something else now, since this was last asked. */
  concernedParked(): boolean
  /** Resolves when there was a change since it was last asked, or when the signal ends the wait. */
  next(signal: AbortSignal): Promise<void>
  close(): Promise<void>
}

const tryAgainMs = 1000

export function workChanges(store: Store, project: string): WorkChanges {
  const stop = new AbortController()
  const { signal } = stop
  let hasChanged = false
  let isAboutParked = true
  let wake = () => {}

  const tell = (aboutParked: boolean) => {
    hasChanged = true
    isAboutParked ||= aboutParked
    wake()
  }

  async function take(events: AsyncIterable<RecordedEvent>): Promise<void> {
    for await (const { event } of events) {
      if (matters(event)) tell(concernsParked(event))
    }
  }

  /** From where the log is: what came while it could not be followed may have been about anything. */
  async function followAgain(): Promise<void> {
    await wait(tryAgainMs, undefined, { signal })
    const again = store.subscribe({ project, signal })
    tell(true)
    return take(again)
  }

  const events = store.subscribe({ project, signal })
  const watching = (async () => {
    let following = take(events)
    while (!(await isOver(following))) following = followAgain()
  })()

  /** Whoever waits looks again by itself after a while, too. */
  function isOver(following: Promise<void>): Promise<boolean> {
    return following.then(
      () => true,
      () => signal.aborted,
    )
  }

  return {
    concernedParked() {
      const was = isAboutParked
      isAboutParked = false
      return was
    },
    async next(signal) {
      if (!hasChanged && !signal.aborted) {
        await new Promise<void>(resolve => {
          wake = resolve
          signal.addEventListener('abort', () => resolve(), { once: true })
        })
      }
      if (!signal.aborted) hasChanged = false
    },
    async close() {
      stop.abort()
      await watching
    },
  }
}

function concernsParked(event: StoredEvent): boolean {
  if (event.type === 'work.moved') return event.from === 'parked' || event.to === 'parked'
  return event.type === 'work.described'
}

/** That somebody begins makes nothing ready. */
function matters(event: StoredEvent): boolean {
  switch (event.type) {
    case 'work.moved':
      return event.to !== 'in_progress'
    case 'work.described':
    case 'feature.described':
    case 'tasks.planned':
    case 'guard.cleared':
      return true
    default:
      return false
  }
}
