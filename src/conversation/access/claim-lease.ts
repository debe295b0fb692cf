/** Claims the lease of a piece of work, and waits for one whose holder is gone. */
import { createHash } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { LeaseHeld } from '../../errors.ts'
import type { Engine, Scope } from '../../log/engine.ts'
import { type WorkItem, workItemKey } from '../../log/events/work-item.ts'
import { type KeptLease, keepLease } from './renewed-lease.ts'

/** Interval between looks at a lease that another process holds. */
const pollMs = 100

/**
 * Claims a lease and keeps it renewed. Waits for one whose holder no longer renews it, because its process is gone.
 *
 * @throws {LeaseHeld} when its holder is alive
 */
export async function claimWork(
  engine: Engine,
  { project, actor }: Scope,
  {
    name,
    leaseMs,
    signal,
    onWaiting,
  }: { name: string; leaseMs: number; signal: AbortSignal; onWaiting: (until: string) => void },
): Promise<KeptLease> {
  const holder = `${actor} ${engine.newId()}`
  let seen: string | undefined
  for (;;) {
    const lease = await keepLease(engine, { project, name, holder, forMs: leaseMs })
    if (lease) return lease
    const held = await engine.store.holderOf({ project, name })
    if (!held) continue
    if (seen === undefined) onWaiting(held.expiresAt)
    else if (held.expiresAt !== seen) throw new LeaseHeld(held)
    seen = held.expiresAt
    await wait(pollMs, undefined, { signal })
  }
}

/** Uses a digest, because an id may be as long as the whole name of a lease may be. */
export function leaseName(what: string, item: WorkItem): string {
  return `${what} ${createHash('sha256').update(workItemKey(item)).digest('base64url')}`
}
