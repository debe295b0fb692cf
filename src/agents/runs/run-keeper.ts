/** The runs of this process: their leases are renewed, they can be stopped, and none outlives the store. */

import type { Claim } from '../../conversation/turns/agent-views.ts'
import { LeaseLost } from '../../errors.ts'
import { timerMs } from '../../timers.ts'

interface KeptRun {
  readonly sessionId: string
  readonly signal: AbortSignal
  isSuperseded(): boolean
  /** Resolves when the run has ended, successfully or not. */
  readonly over: Promise<void>
  stop(why: 'cancelled' | 'superseded'): void
  /** Must be called when the run has ended. */
  end(): void
}

export interface RunKeeper {
  keep(sessionId: string, claim: Claim, options: { leaseMs: number; signal?: AbortSignal | undefined }): KeptRun
  find(sessionId: string): KeptRun | undefined
  count(): number
  /** Stops all runs and waits until their ends are recorded. */
  close(): Promise<void>
}

export function runKeeper(): RunKeeper {
  const runs = new Map<string, KeptRun>()
  return {
    keep(sessionId, claim, { leaseMs, signal }) {
      const stopping = new AbortController()
      let isSuperseded = false
      let resolve = () => {}
      const over = new Promise<void>(done => {
        resolve = done
      })
      const timer = setInterval(
        () => {
          claim.renew(leaseMs).catch(error => {
            // Other failures may pass by the next renewal; each write checks the lease itself.
            if (error instanceof LeaseLost) kept.stop('superseded')
          })
        },
        timerMs(leaseMs / 3),
      ).unref()
      const kept: KeptRun = {
        sessionId,
        signal: signal ? AbortSignal.any([signal, stopping.signal]) : stopping.signal,
        isSuperseded: () => isSuperseded,
        over,
        stop(why) {
          isSuperseded ||= why === 'superseded'
          stopping.abort()
        },
        end() {
          clearInterval(timer)
          if (runs.get(sessionId) === kept) runs.delete(sessionId)
          resolve()
        },
      }
      runs.set(sessionId, kept)
      return kept
    },
    find: sessionId => runs.get(sessionId),
    count: () => runs.size,
    async close() {
      const open = [...runs.values()]
      for (const one of open) one.stop('cancelled')
      await Promise.all(open.map(one => one.over))
    },
  }
}
