/** Runs the operations of upkeep in this process, and makes caches and subscribers follow what they change. */
import { upkeepOver } from '../../../log/upkeep/upkeep-over.ts'
import type { RunUpkeep, UpkeepOperation } from '../../../log/upkeep-work.ts'
import type { Parts } from '../parts.ts'
import { rowStore } from './row-store.ts'

const writing: ReadonlySet<UpkeepOperation> = new Set<UpkeepOperation>([
  ...(['repair', 'erase', 'rewrite', 'purge', 'restorePage', 'addKeys', 'addPurges'] as const),
])

export function runUpkeep(parts: Parts): RunUpkeep {
  const { guard, subscriptions, commits } = parts
  const run = upkeepOver(rowStore(parts))
  return async (operation, input, onProgress) => {
    const work = () => run(operation, input, onProgress)
    const result = await (writing.has(operation) ? guard.writing(work) : guard.reading(work))
    if (operation === 'erase' || operation === 'rewrite' || operation === 'purge') {
      // Memory must not hold what is gone.
      subscriptions.forget()
    }
    if (operation === 'erase' || operation === 'rewrite' || operation === 'restorePage') {
      commits.add([(input as { project: string }).project])
    }
    return result
  }
}
