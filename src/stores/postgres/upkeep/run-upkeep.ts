/** Runs the operations of upkeep in this process, and makes caches and subscribers follow what they change. */
import { upkeepOver } from '../../../log/upkeep/upkeep-over.ts'
import { type RunUpkeep, type UpkeepInput, writingOperations } from '../../../log/upkeep-work.ts'
import type { Parts } from '../parts.ts'
import { landmarkOf } from './landmarks.ts'
import { rowStore } from './row-store.ts'

export function runUpkeep(parts: Parts): RunUpkeep {
  const { guard, subscriptions, commits } = parts
  const run = upkeepOver(rowStore(parts), {
    landmark: ({ conversationId: id, ...input }: UpkeepInput<'landmark'>) => landmarkOf(parts, { ...input, id }),
  })
  return async (operation, input, onProgress) => {
    const work = () => run(operation, input, onProgress)
    const result = await (writingOperations.has(operation) ? guard.writing(work) : guard.reading(work))
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
