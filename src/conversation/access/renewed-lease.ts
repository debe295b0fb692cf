/** A lease that is kept as long as its work lasts: renewed by this process, and told of when it was lost. */

import { LeaseHeld, LeaseLost } from '../../errors.ts'
import type { Engine } from '../../log/engine.ts'
import { timerMs } from '../../timers.ts'

export interface KeptLease {
  readonly name: string
  /** Writes with it are refused once the lease is lost. */
  readonly fence: { name: string; generation: number }
  /** Aborted when it was lost: whoever has it now goes on with the work. */
  readonly lost: AbortSignal
  /** Stops renewing it, and gives it back. */
  release(): Promise<void>
}

interface Wanted {
  project: string
  holder: string
  forMs: number
}

/** Undefined when somebody else holds it. */
export async function keepLease(
  { store }: Pick<Engine, 'store'>,
  wanted: Wanted & { name: string },
): Promise<KeptLease | undefined> {
  const taken = await store.claim(wanted).catch(error => {
    if (error instanceof LeaseHeld) return undefined
    throw error
  })
  return taken && kept(store, wanted, taken)
}

/** The first of these that nobody holds, if there is one. */
export async function keepAny(
  { store }: Pick<Engine, 'store'>,
  wanted: Wanted & { names: readonly string[] },
): Promise<KeptLease | undefined> {
  const taken = await store.claimAny(wanted)
  return taken && kept(store, wanted, taken)
}

function kept(
  store: Engine['store'],
  { project, forMs }: Wanted,
  { name, generation }: { name: string; generation: number },
): KeptLease {
  const fence = { name, generation }
  const losing = new AbortController()
  const timer = setInterval(
    () => {
      store.renew({ project, ...fence, forMs }).catch(error => {
        // Whatever else went wrong may go right the next time; each write looks at the lease itself.
        if (!(error instanceof LeaseLost)) return
        clearInterval(timer)
        losing.abort()
      })
    },
    timerMs(forMs / 3),
  ).unref()
  return {
    name,
    fence,
    lost: losing.signal,
    async release() {
      clearInterval(timer)
      await store.release({ project, ...fence })
    },
  }
}
