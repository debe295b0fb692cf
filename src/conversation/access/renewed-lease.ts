/** A lease that this process renews as long as the work lasts. A signal tells when it was lost. */

import { LeaseHeld, LeaseLost } from '../../errors.ts'
import type { Engine } from '../../log/engine.ts'
import { timerMs } from '../../timers.ts'

export interface KeptLease {
  readonly name: string
  /** Writes with it are refused once the lease is lost. */
  readonly fence: { name: string; generation: number }
  /** Aborted when the lease was lost. Its next holder continues the work. */
  readonly lost: AbortSignal
  /** Stops renewing it, and gives it back. */
  release(): Promise<void>
}

interface LeaseRequest {
  project: string
  holder: string
  forMs: number
}

/** Claims a lease and renews it. Undefined when another holder has it. */
export async function keepLease(
  { store }: Pick<Engine, 'store'>,
  request: LeaseRequest & { name: string },
): Promise<KeptLease | undefined> {
  const lease = await store.claim(request).catch(error => {
    if (error instanceof LeaseHeld) return undefined
    throw error
  })
  return lease && renewed(store, request, lease)
}

/** Claims the first of these leases that is free. Undefined when all are held. */
export async function keepAny(
  { store }: Pick<Engine, 'store'>,
  request: LeaseRequest & { names: readonly string[] },
): Promise<KeptLease | undefined> {
  const lease = await store.claimAny(request)
  return lease && renewed(store, request, lease)
}

function renewed(
  store: Engine['store'],
  { project, forMs }: LeaseRequest,
  { name, generation }: { name: string; generation: number },
): KeptLease {
  const fence = { name, generation }
  const loss = new AbortController()
  const timer = setInterval(
    () => {
      store.renew({ project, ...fence, forMs }).catch(error => {
        // Other failures may pass until the next renewal. Each write checks the lease itself.
        if (!(error instanceof LeaseLost)) return
        clearInterval(timer)
        loss.abort()
      })
    },
    timerMs(forMs / 3),
  ).unref()
  return {
    name,
    fence,
    lost: loss.signal,
    async release() {
      clearInterval(timer)
      await store.release({ project, ...fence })
    },
  }
}
