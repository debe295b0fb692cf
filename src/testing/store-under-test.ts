/** The port of a contract suite to a store: opening a new one, and opening the same place again. */
import { onTestFinished } from 'vitest'
import type { StoreCalls } from '../log/store.ts'

export interface StoreUnderTest {
  readonly store: StoreCalls
  clock: SettableClock
  /** Another handle on the same place, as another process would have it. Closed after the test. */
  another(): Promise<StoreCalls>
  /** Closes the store and opens the same place again. */
  reopen(): Promise<StoreCalls>
}

/** Opens a fresh store. All of it is gone after the test. */
export type OpenStore = () => Promise<StoreUnderTest>

export interface SettableClock {
  (): number
  /** Milliseconds since 1970. Stands still until a test sets it. */
  now: number
}

export function settableClock(): SettableClock {
  const clock: SettableClock = Object.assign(() => clock.now, { now: Date.parse('2026-01-01T12:00:00Z') })
  return clock
}

/**
 * A store under test from a function that opens one place. Each handle is closed after the test.
 *
 * @param open opens the same place each time, with this clock
 */
export async function storeUnderTest(open: (clock: () => number) => Promise<StoreCalls>): Promise<StoreUnderTest> {
  const clock = settableClock()
  async function another(): Promise<StoreCalls> {
    const handle = await open(clock)
    onTestFinished(() => handle.close())
    return handle
  }
  let store = await another()
  return {
    get store() {
      return store
    },
    clock,
    another,
    async reopen() {
      await store.close()
      store = await another()
      return store
    },
  }
}
