/**
 * A model that is asked by so many at a time; the others wait, a person's chat before background work.
 *
 * Background work leaves one place free where there are several, so that a person seldom waits for it to end.
 */
import { cancelled } from './failure.ts'
import type { Model, ModelPriority } from './model.ts'

export interface Gate {
  /** Resolves with the way out when it is the caller's turn; with undefined when the signal comes first. */
  enter(priority: ModelPriority, signal?: AbortSignal): Promise<(() => void) | undefined>
  /** How many are inside, and how many wait. */
  readonly inside: number
  readonly waiting: number
}

interface Waiting {
  priority: ModelPriority
  admit(): void
}

const order: readonly ModelPriority[] = ['person', 'normal', 'background']

export function gate(concurrency: number): Gate {
  const queue: Waiting[] = []
  let inside = 0

  function hasRoomFor(priority: ModelPriority): boolean {
    const places = priority === 'background' && concurrency > 1 ? concurrency - 1 : concurrency
    return inside < places
  }

  function admitNext(): void {
    for (const priority of order) {
      for (;;) {
        const at = queue.findIndex(one => one.priority === priority)
        if (at < 0) break
        if (!hasRoomFor(priority)) return
        queue.splice(at, 1)[0]!.admit()
      }
    }
  }

  function wayOut(): () => void {
    inside++
    let left = false
    return () => {
      if (left) return
      left = true
      inside--
      admitNext()
    }
  }

  return {
    get inside() {
      return inside
    },
    get waiting() {
      return queue.length
    },
    enter(priority, signal) {
      if (signal?.aborted) return Promise.resolve(undefined)
      const isFirst = !queue.some(one => order.indexOf(one.priority) <= order.indexOf(priority))
      if (isFirst && hasRoomFor(priority)) return Promise.resolve(wayOut())
      return new Promise(resolve => {
        const giveUp = () => {
          queue.splice(queue.indexOf(entry), 1)
          resolve(undefined)
        }
        const entry: Waiting = {
          priority,
          admit() {
            signal?.removeEventListener('abort', giveUp)
            resolve(wayOut())
          },
        }
        queue.push(entry)
        signal?.addEventListener('abort', giveUp, { once: true })
      })
    },
  }
}

export function limited(model: Model, entrance: Gate): Model {
  return {
    name: model.name,
    takesTools: model.takesTools,
    async *stream(request) {
      const leave = await entrance.enter(request.priority ?? 'normal', request.signal)
      if (!leave) {
        yield cancelled()
        return
      }
      try {
        yield* model.stream(request)
      } finally {
        leave()
      }
    },
  }
}
