/** The needs of a contract suite: a fresh store, and ways to open the same place again. */
import type { Store } from 'colloquy/stores'

export interface StoreUnderTest {
  store: Store
  clock: SettableClock
  /** Another handle on the same place, as another process would have it. Closed after the test. */
  another(): Promise<Store>
  /** Closes the store and opens the same place again. */
  reopen(): Promise<Store>
}

/** Gives a fresh store; all of it is gone after the test. */
export type OpenStore = () => Promise<StoreUnderTest>

export interface SettableClock {
  (): number
  /** Milliseconds since 1970. Stands still until it is set or moved on. */
  now: number
}

export function settableClock(): SettableClock {
  const clock: SettableClock = Object.assign(() => clock.now, { now: Date.parse('2026-01-01T12:00:00Z') })
  return clock
}
