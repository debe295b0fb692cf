/** Waits for another process's lock without blocking the event loop. */
import { setTimeout as wait } from 'node:timers/promises'
import { isBusy } from './errors.ts'

/** Tries `attempt` until it is not refused as busy, or until the time is over. */
export async function whenFree<T>(attempt: () => T, timeoutMs: number): Promise<T> {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    try {
      return attempt()
    } catch (error) {
      const isRefused = isBusy(error) || (error instanceof Error && isBusy(error.cause))
      if (!isRefused || performance.now() > deadline) throw error
      await wait(1 + Math.random() * 10)
    }
  }
}
