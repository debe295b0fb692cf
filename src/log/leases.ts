/**
 * The port of leases: who may do a piece of work now. `src/testing/leases.ts` tests what stores must promise.
 *
 * Each claim raises the lease's generation; a fenced append checks it in its own transaction, so a holder that was
 * paused past its time cannot write over its successor.
 */
import { InvalidInput } from '../errors.ts'

export interface Lease {
  name: string
  holder: string
  /** Grows with every claim of this name, and never starts again. */
  generation: number
  /** ISO time. */
  expiresAt: string
}

export interface Leases {
  /**
   * Takes the lease if it is free, or if its holder's time is over. A holder that claims it again gets a new
   * generation: writes under the old one are refused.
   *
   * @throws {LeaseHeld} when another holder has it
   * @throws {InvalidInput} when it is for no time, or for more than a year
   */
  claim(request: { project: string; name: string; holder: string; forMs: number }): Promise<Lease>

  /**
   * Takes the first of these leases that is free, if any: the next piece of work of a queue, or one of several places.
   * A lease that this holder has already is not taken again. Two that ask at once get different ones.
   */
  claimAny(request: {
    project: string
    /** In the order of preference; at most 1000. */
    names: readonly string[]
    holder: string
    forMs: number
  }): Promise<Lease | undefined>

  /**
   * Extends a lease that is still held.
   *
   * @throws {LeaseLost} when it ran out or another holder took it
   */
  renew(request: { project: string; name: string; generation: number; forMs: number }): Promise<Lease>

  /** Gives it back. Does nothing when it was lost already. */
  release(request: { project: string; name: string; generation: number }): Promise<void>

  /** The lease as it is held now, if it is. */
  holderOf(request: { project: string; name: string }): Promise<Lease | undefined>
}

/** A year. A lease that is needed for longer is renewed. */
const longestLeaseMs = 365 * 24 * 60 * 60 * 1000

/** @throws {InvalidInput} when a lease cannot be held for so long */
export function checkLeaseTime(forMs: number): void {
  if (Number.isInteger(forMs) && forMs > 0 && forMs <= longestLeaseMs) return
  throw new InvalidInput('forMs', `must be a whole number of milliseconds, from 1 to ${longestLeaseMs}: a year`)
}
