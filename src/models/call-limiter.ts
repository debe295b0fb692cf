/**
 * Limits the calls to a model at a time. Others wait, a person's chat before background work.
 *
 * Of several slots, background work leaves one free, so that a person rarely waits for it.
 */
import { cancelled } from './failure.ts'
import type { Model, ModelPriority } from './model.ts'

export interface CallLimiter {
  /** Resolves with a function that releases the slot; with undefined when the signal comes first. */
  acquire(priority: ModelPriority, signal?: AbortSignal): Promise<(() => void) | undefined>
  /** Number of running calls. */
  readonly running: number
  readonly waiting: number
}

interface WaitingCall {
  priority: ModelPriority
  start(): void
}

const order: readonly ModelPriority[] = ['person', 'normal', 'background']

export function callLimiter(concurrency: number): CallLimiter {
  const queue: WaitingCall[] = []
  let running = 0

  function hasSlotFor(priority: ModelPriority): boolean {
    const slots = priority === 'background' && concurrency > 1 ? concurrency - 1 : concurrency
    return running < slots
  }

  function startNext(): void {
    for (const priority of order) {
      for (;;) {
        const index = queue.findIndex(call => call.priority === priority)
        if (index < 0) break
        if (!hasSlotFor(priority)) return
        queue.splice(index, 1)[0]!.start()
      }
    }
  }

  function takeSlot(): () => void {
    running++
    let isReleased = false
    return () => {
      if (isReleased) return
      isReleased = true
      running--
      startNext()
    }
  }

  return {
    get running() {
      return running
    },
    get waiting() {
      return queue.length
    },
    acquire(priority, signal) {
      if (signal?.aborted) return Promise.resolve(undefined)
      const isFirst = !queue.some(call => order.indexOf(call.priority) <= order.indexOf(priority))
      if (isFirst && hasSlotFor(priority)) return Promise.resolve(takeSlot())
      return new Promise(resolve => {
        const giveUp = () => {
          queue.splice(queue.indexOf(call), 1)
          resolve(undefined)
        }
        const call: WaitingCall = {
          priority,
          start() {
            signal?.removeEventListener('abort', giveUp)
            resolve(takeSlot())
          },
        }
        queue.push(call)
        signal?.addEventListener('abort', giveUp, { once: true })
      })
    },
  }
}

export function limited(model: Model, limiter: CallLimiter): Model {
  return {
    name: model.name,
    takesTools: model.takesTools,
    async *stream(request) {
      const release = await limiter.acquire(request.priority ?? 'normal', request.signal)
      if (!release) {
        yield cancelled()
        return
      }
      try {
        yield* model.stream(request)
      } finally {
        release()
      }
    },
  }
}
