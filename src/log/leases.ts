/**
 * The port of leases: who may do a piece of work now. `test/contract/leases.ts` is what stores must promise.
 *
 * Each claim raises the lease's generation; a fenced append checks it in its own transaction, so a holder that was
 * paused past its time cannot write over its successor.
 */
import { InvalidInput } from '../errors.ts'

export interface Lease {
  name: string
  holder: string
  /** Grows with every claim of this name, for ever. */
  generation: number
  /** ISO time. */
  expiresAt: string
}

export interface Leases {
  /**
   * Takes the lease if nobody holds it, or if its holder's time is over.
   * A holder that claims what it holds gets a new generation: its earlier self is fenced off.
   *
   * @throws {LeaseHeld} when somebody else holds it
   * @throws {InvalidInput} when it is for no time, or for more than a year
   */
  claim(request: { project: string; name: string; holder: string; forMs: number }): Promise<Lease>

  /**
   * Takes the first of these that nobody holds, if there is one: the next piece of work of a queue, or a free place among
   * a number of places. What the holder holds already is not taken again. Two that ask at once get different ones.
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
   * @throws {LeaseLost} when it ran out or somebody else took it
   */
  renew(request: { project: string; name: string; generation: number; forMs: number }): Promise<Lease>

  /** Gives it back. Quiet when it was lost already. */
  release(request: { project: string; name: string; generation: number }): Promise<void>

  /** Who holds it now, if anybody. */
  holderOf(request: { project: string; name: string }): Promise<Lease | undefined>
}

/** A year: whoever needs a lease for longer renews it. */
const longestLeaseMs = 365 * 24 * 60 * 60 * 1000

/** @throws {InvalidInput} when nobody can hold a lease for so long */
export function checkLeaseTime(forMs: number): void {
  if (Number.isInteger(forMs) && forMs > 0 && forMs <= longestLeaseMs) return
  throw new InvalidInput('forMs', `must be a whole number of milliseconds, from 1 to ${longestLeaseMs}: a year`)
}
