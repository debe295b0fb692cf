/** Upkeep on the engine's side: the worker runs each operation, and subscribers follow what it changed. */
import { IllegalState } from '../../../errors.ts'
import type { Progress } from '../../../log/upkeep.ts'
import { type RunUpkeep, type UpkeepOperation, writingOperations } from '../../../log/upkeep-work.ts'
import type { Parts } from '../parts.ts'

const removals: ReadonlySet<UpkeepOperation> = new Set<UpkeepOperation>(['erase', 'rewrite', 'purge'])

export function engineUpkeep(parts: Parts): RunUpkeep {
  const { database, worker, housekeeping, guard, subscriptions } = parts

  /** Removed content must not stay in a write-ahead log. While a connection still reads there, it is tried again. */
  async function scrubbed(): Promise<{ lingers?: true }> {
    if (await worker.call('scrub', undefined).catch(() => false)) return {}
    housekeeping.scrubLater()
    return { lingers: true }
  }

  async function run(operation: UpkeepOperation, input: unknown, onProgress?: Progress): Promise<unknown> {
    guard.refuseClosed()
    if (writingOperations.has(operation)) {
      guard.refuseUnwritable()
      parts.refuseOtherFile()
    }
    // Queued writes are in the log before the worker reads it, and a file that cannot be written is refused here.
    if (operation === 'repair') {
      await guard.writing(() => database.exec("update meta set value = value where name = 'position_floor'"))
    }
    if (operation === 'finishRemoval') {
      await scrubbed()
      return undefined
    }
    try {
      const result = await worker.call('upkeep', { operation, input }, onProgress)
      if (operation === 'restorePage') subscriptions.wake()
      if (!removals.has(operation)) return result
      subscriptions.wake()
      subscriptions.forget()
      const lingers = await scrubbed()
      return operation === 'rewrite' ? result : { ...(result as object), ...lingers }
    } catch (error) {
      // The process that erased it may have been cut off before it scrubbed.
      if (removals.has(operation) && error instanceof IllegalState) await scrubbed()
      throw error
    }
  }

  return run as RunUpkeep
}
