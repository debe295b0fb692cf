/** The lease of a piece of work, kept as long as it takes: who has it does it, and nobody else. */
import { setTimeout as wait } from 'node:timers/promises'
import type { Engine, Scope } from '../engine.ts'
import { LeaseHeld, LeaseLost } from '../errors.ts'

export interface WorkLease {
  readonly fence: { name: string; generation: number }
  /** Aborted when it was lost: somebody else does the work now. */
  readonly signal: AbortSignal
  release(): Promise<void>
}

/** How often it is looked whether a lease ran out. */
const lookEveryMs = 100

/**
 * Claims a lease. One whose holder does not renew it is waited for: its process is gone, and its time will be over.
 *
 * @throws {LeaseHeld} when its holder is alive
 */
export async function workLease(
  { store, newId }: Engine,
  { project, actor }: Scope,
  {
    name,
    leaseMs,
    signal,
    onWaiting,
  }: { name: string; leaseMs: number; signal: AbortSignal; onWaiting: (until: string) => void },
): Promise<WorkLease> {
  const holder = `${actor} ${newId()}`
  let seen: string | undefined
  for (;;) {
    try {
      const { generation } = await store.claim({ project, name, holder, forMs: leaseMs })
      return kept({ name, generation })
    } catch (error) {
      if (!(error instanceof LeaseHeld)) throw error
      const { expiresAt } = error.facts as { expiresAt: string }
      if (seen !== undefined && expiresAt !== seen) throw error
      if (seen === undefined) onWaiting(expiresAt)
      seen = expiresAt
      await wait(lookEveryMs, undefined, { signal })
    }
  }

  function kept(fence: WorkLease['fence']): WorkLease {
    const lost = new AbortController()
    const timer = setInterval(() => {
      store.renew({ project, ...fence, forMs: leaseMs }).catch(error => {
        // Whatever else went wrong may go right the next time; each write looks at the lease itself.
        if (error instanceof LeaseLost) lost.abort()
      })
    }, leaseMs / 3).unref()
    return {
      fence,
      signal: lost.signal,
      async release() {
        clearInterval(timer)
        await store.release({ project, ...fence })
      },
    }
  }
}
