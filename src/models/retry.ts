/**
 * A model that retries transient failures, with growing random waits, and never before the provider's hint.
 *
 * The waits are random so that callers which failed together do not retry together.
 */
import { timerMs } from '../timers.ts'
import { asFailure, cancelled, type FailurePart, failed } from './failure.ts'
import type { Model, ModelFailure } from './model.ts'

export interface RetrySettings {
  /** Maximum number of calls, including the first. */
  attempts: number
  /** Maximum first wait. It doubles with every attempt. */
  firstWaitMs: number
  /** Maximum wait. When the provider asks for a longer one, there is no further attempt. */
  longestWaitMs: number
}

export const defaultRetrySettings: RetrySettings = { attempts: 4, firstWaitMs: 1_000, longestWaitMs: 60_000 }

export interface RetryTools {
  /** From 0 to below 1. */
  random: () => number
  /** Resolves to false when the signal came first. */
  wait: (milliseconds: number, signal?: AbortSignal) => Promise<boolean>
}

export function retrying(
  model: Model,
  settings: Partial<RetrySettings> = {},
  { random = Math.random, wait = waitFor }: Partial<RetryTools> = {},
): Model {
  const limits = { ...defaultRetrySettings, ...settings }
  return {
    name: model.name,
    takesTools: model.takesTools,
    async *stream(request) {
      for (let attempt = 1; ; attempt++) {
        let failure: FailurePart | undefined
        for await (const part of model.stream(request)) {
          if (part.type === 'failure') {
            failure = part
            break
          }
          yield part
          if (part.type === 'finish') return
        }
        failure ??= failed('network', 'The answer ended before it was finished.')
        const forMs = nextWait(failure, attempt, limits, random)
        if (forMs === undefined) {
          yield failure
          return
        }
        yield { type: 'waiting', forMs, attempt, failure: asFailure(failure) }
        if (!(await wait(forMs, request.signal))) {
          yield cancelled()
          return
        }
      }
    },
  }
}

/** Returns the wait until the next attempt, or undefined when there is none. */
function nextWait(
  { retryable, retryAfterMs = 0 }: ModelFailure,
  attempt: number,
  { attempts, firstWaitMs, longestWaitMs }: RetrySettings,
  random: () => number,
): number | undefined {
  if (!retryable || attempt >= attempts || retryAfterMs > longestWaitMs) return undefined
  const ceiling = Math.min(longestWaitMs, firstWaitMs * 2 ** (attempt - 1))
  // At least half the ceiling, because a busy provider should not be called at once.
  const wait = ceiling / 2 + (random() * ceiling) / 2
  // All callers get the same hint, so the random part is added to it.
  return Math.round(Math.min(longestWaitMs, retryAfterMs > 0 ? retryAfterMs + wait / 2 : wait))
}

/** Resolves to true after the time, or to false as soon as the signal is aborted. */
function waitFor(milliseconds: number, signal?: AbortSignal): Promise<boolean> {
  if (signal?.aborted) return Promise.resolve(false)
  return new Promise(resolve => {
    const stop = () => {
      clearTimeout(timer)
      resolve(false)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve(true)
    }, timerMs(milliseconds))
    signal?.addEventListener('abort', stop, { once: true })
  })
}
