/** The runs of this process. Their leases are renewed, they can be stopped, and closing the store waits for them. */

import type { Claim } from '../../conversation/turns/agent-views.ts'
import { LeaseLost } from '../../errors.ts'
import { timerMs } from '../../timers.ts'

interface KeptRun {
  readonly signal: AbortSignal
  isSuperseded(): boolean
  /** Must be called when the run has ended. */
  end(): void
}

type StopReason = 'cancelled' | 'superseded'

interface RunningRun extends KeptRun {
  /** Resolves when the run has ended. */
  readonly over: Promise<void>
  stop(reason: StopReason): void
}

export interface RunKeeper {
  keep(sessionId: string, claim: Claim, options: { leaseMs: number; signal?: AbortSignal | undefined }): KeptRun
  has(sessionId: string): boolean
  /** Stops a session's run and waits for its end. Returns false if there is none. */
  stop(sessionId: string, reason: StopReason): Promise<boolean>
  count(): number
  /** Stops all runs and waits until their ends are recorded. */
  close(): Promise<void>
}

export function runKeeper(): RunKeeper {
  const runs = new Map<string, RunningRun>()
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
      const kept: RunningRun = {
        signal: signal ? AbortSignal.any([signal, stopping.signal]) : stopping.signal,
        isSuperseded: () => isSuperseded,
        over,
        stop(reason) {
          isSuperseded ||= reason === 'superseded'
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
    has: sessionId => runs.has(sessionId),
    async stop(sessionId, reason) {
      const running = runs.get(sessionId)
      running?.stop(reason)
      await running?.over
      return running !== undefined
    },
    count: () => runs.size,
    async close() {
      const open = [...runs.values()]
      for (const running of open) running.stop('cancelled')
      await Promise.all(open.map(({ over }) => over))
    },
  }
}
