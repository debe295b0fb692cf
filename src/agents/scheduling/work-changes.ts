/** Reports changes of work to a dispatcher, from one subscription. */
import { followed } from '../../conversation/access/follow-log.ts'
import type { StoredEvent } from '../../log/events/event.ts'
import type { StoreCalls } from '../../log/store.ts'

interface WorkChanges {
  /** True when beads were parked, reopened or described since the last call. */
  concernedParked(): boolean
  /** Resolves when work changed since the last call, or when the signal ends the wait. */
  next(signal: AbortSignal): Promise<void>
  close(): Promise<void>
}

export function workChanges(store: Pick<StoreCalls, 'subscribe' | 'position'>, project: string): WorkChanges {
  const stop = new AbortController()
  let hasChanged = false
  let concernsParked = true
  let wake = () => {}

  const report = (isConcerned: boolean) => {
    hasChanged = true
    concernsParked ||= isConcerned
    wake()
  }

  const watching = (async () => {
    for await (const { event } of followed(store, project, { signal: stop.signal, onGap: () => report(true) })) {
      if (mayMakeReady(event)) report(mayParkOrReopen(event))
    }
  })()

  return {
    concernedParked() {
      const isConcerned = concernsParked
      concernsParked = false
      return isConcerned
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

function mayParkOrReopen(event: StoredEvent): boolean {
  if (event.type === 'work.moved') return event.from === 'parked' || event.to === 'parked'
  return event.type === 'work.described'
}

function mayMakeReady(event: StoredEvent): boolean {
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
