/** A lease that is kept as long as its work lasts: renewed by this process, and told of when it was lost. */
import type { Engine } from '../engine.ts'
import { LeaseHeld, LeaseLost } from '../errors.ts'

export interface KeptLease {
  readonly name: string
  /** Writes with it are refused once the lease is lost. */
  readonly fence: { name: string; generation: number }
  /** Aborted when it was lost: whoever has it now goes on with the work. */
  readonly lost: AbortSignal
  /** Stops renewing it, and gives it back. */
  release(): Promise<void>
}

/** Undefined when somebody else holds it. */
export async function keepLease(
  { store }: Pick<Engine, 'store'>,
  { project, name, holder, forMs }: { project: string; name: string; holder: string; forMs: number },
): Promise<KeptLease | undefined> {
  const taken = await store.claim({ project, name, holder, forMs }).catch(error => {
    if (error instanceof LeaseHeld) return undefined
    throw error
  })
  if (!taken) return undefined
  const fence = { name, generation: taken.generation }
  const losing = new AbortController()
  const timer = setInterval(() => {
    store.renew({ project, ...fence, forMs }).catch(error => {
      // Whatever else went wrong may go right the next time; each write looks at the lease itself.
      if (error instanceof LeaseLost) lose()
    })
  }, forMs / 3).unref()
  function lose() {
    clearInterval(timer)
    losing.abort()
  }
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
