/**
 * `colloquy/testing`: the tests that every store must pass, for vitest.
 *
 * Loaded by test files only. It imports `vitest` and `fast-check`, which a project that tests a store installs itself.
 */
import { describeAccounts } from './accounts.ts'
import { describeBranches } from './branches.ts'
import { describeEditedArchives } from './edited-archives.ts'
import { describeEventLog } from './event-log.ts'
import { describeLeases } from './leases.ts'
import { describeNodes } from './nodes.ts'
import { describeSearch } from './search.ts'
import type { OpenStore } from './store-under-test.ts'
import { describeUpkeep } from './upkeep.ts'
import { describeWindows } from './windows.ts'
import { describeWorkItems } from './work-items.ts'

export { memoryArchives } from './archives.ts'
export { conversationCreated, messageAdded, proposal, sessionCreated } from './builders.ts'
export { describeAppends } from './event-log.ts'
export { describeFences } from './leases.ts'
export {
  type OpenStore,
  type SettableClock,
  type StoreUnderTest,
  settableClock,
  storeUnderTest,
} from './store-under-test.ts'

/**
 * Declares every test of the contract for one store.
 *
 * @example
 * describeStore('mine', () => {
 *   const path = temporaryFile()
 *   return storeUnderTest(clock => myStore(path, { clock }))
 * })
 */
export function describeStore(name: string, open: OpenStore): void {
  describeEventLog(name, open)
  describeLeases(name, open)
  describeNodes(name, open)
  describeWindows(name, open)
  describeUpkeep(name, open)
  describeSearch(name, open)
  describeEditedArchives(name, open)
  describeBranches(name, open)
  describeWorkItems(name, open)
  describeAccounts(name, open)
}
