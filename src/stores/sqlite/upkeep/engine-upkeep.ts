/** Upkeep on the engine's side: the worker runs each operation, and subscribers follow what it changed. */
import { ConversationPurged, IllegalState } from '../../../errors.ts'
import type { Directory } from '../../../log/directory.ts'
import { type UpkeepCalls, upkeepCalls } from '../../../log/upkeep/upkeep-calls.ts'
import type { Progress } from '../../../log/upkeep.ts'
import type { RunUpkeep, UpkeepOperation } from '../../../log/upkeep-work.ts'
import type { Windows } from '../../../log/windows.ts'
import type { Parts } from '../parts.ts'

const writingOperations: ReadonlySet<UpkeepOperation> = new Set<UpkeepOperation>([
  ...(['repair', 'erase', 'rewrite', 'purge', 'restorePage', 'addKeys', 'addPurges'] as const),
])

const removals: ReadonlySet<UpkeepOperation> = new Set<UpkeepOperation>(['erase', 'rewrite', 'purge'])

export function engineUpkeep(
  parts: Parts,
  { message, conversation }: Pick<Windows, 'message'> & Pick<Directory, 'conversation'>,
): UpkeepCalls & { upkeep: RunUpkeep } {
  const { database, worker, housekeeping, guard, subscriptions, clock } = parts

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

  const upkeep = run as RunUpkeep
  const calls = upkeepCalls({ run: upkeep, message, conversation, clock })
  return {
    ...calls,
    upkeep,
    async purge(request) {
      try {
        return await calls.purge(request)
      } catch (error) {
        // The process that purged it may have been cut off before it scrubbed.
        if (error instanceof ConversationPurged) await scrubbed()
        throw error
      }
    },
  }
}
