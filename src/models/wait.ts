/** Waiting that can be called off. */
import { timerMs } from '../timers.ts'

/** Resolves to true after the time, to false at once when the signal comes first. */
export function waitFor(milliseconds: number, signal?: AbortSignal): Promise<boolean> {
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
