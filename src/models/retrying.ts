/**
 * A model that tries again when a failure may pass: at growing, random distances, and never before the provider's hint.
 *
 * Random, because callers that were refused together would otherwise come back together.
 */
import { timerMs } from '../timers.ts'
import { asFailure, cancelled, type FailurePart, failed } from './failure.ts'
import type { Model, ModelFailure } from './model.ts'

export interface RetrySettings {
  /** The most calls, the first one included. */
  attempts: number
  /** The longest first wait; it doubles with every attempt. */
  firstWaitMs: number
  /** The longest wait. A provider that asks for more than this gets no further attempt; the failure says when. */
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
  // From half the ceiling on: a wait of almost nothing would ask a busy provider at once.
  const own = ceiling / 2 + (random() * ceiling) / 2
  // Everybody got the same hint, so the random part comes on top of it.
  return Math.round(Math.min(longestWaitMs, retryAfterMs > 0 ? retryAfterMs + own / 2 : own))
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
