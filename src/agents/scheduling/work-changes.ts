/** Says when something about work has changed, to those who look for work: one subscription, however often they ask. */

import { followed } from '../../conversation/access/follow-log.ts'
import type { StoredEvent } from '../../log/events/event.ts'
import type { Store } from '../../log/store.ts'

interface WorkChanges {
  /** Whether something was parked, or went on, or waits for something else now, since this was last asked. */
  concernedParked(): boolean
  /** Resolves when there was a change since it was last asked, or when the signal ends the wait. */
  next(signal: AbortSignal): Promise<void>
  close(): Promise<void>
}

export function workChanges(store: Pick<Store, 'subscribe' | 'position'>, project: string): WorkChanges {
  const stop = new AbortController()
  let hasChanged = false
  let isAboutParked = true
  let wake = () => {}

  const tell = (aboutParked: boolean) => {
    hasChanged = true
    isAboutParked ||= aboutParked
    wake()
  }

  const watching = (async () => {
    for await (const { event } of followed(store, project, { signal: stop.signal, onGap: () => tell(true) })) {
      if (matters(event)) tell(concernsParked(event))
    }
  })()

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
