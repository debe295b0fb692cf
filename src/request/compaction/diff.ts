/** The changes from one checkpoint of a session to another. */
import { z } from 'zod'
import { type Checkpoint, CheckpointItem, CheckpointSection } from '../../log/events/checkpoint.ts'

const items = z.array(CheckpointItem)

export const CheckpointDiff = z
  .object({
    added: items,
    resolved: items,
    reopened: items,
    moved: z.array(z.object({ item: CheckpointItem, from: CheckpointSection, to: CheckpointSection })),
    rewritten: z.array(z.object({ item: CheckpointItem, before: z.string(), after: z.string() })),
    /** In the first and no longer in the second. */
    dropped: items,
  })
  .meta({ id: 'CheckpointDiff' })
export type CheckpointDiff = z.infer<typeof CheckpointDiff>

type WithItems = Pick<Checkpoint, 'items'>

/** An item may stand in several lists: moved and rewritten, say. Without a first checkpoint everything was added. */
export function diffCheckpoints(first: WithItems | undefined, second: WithItems): CheckpointDiff {
  const before = new Map((first?.items ?? []).map(item => [item.id, item]))
  const diff: CheckpointDiff = { added: [], resolved: [], reopened: [], moved: [], rewritten: [], dropped: [] }
  for (const item of second.items) {
    const old = before.get(item.id)
    before.delete(item.id)
    if (!old) {
      diff.added.push(item)
      continue
    }
    if (!old.resolved && item.resolved) diff.resolved.push(item)
    if (old.resolved && !item.resolved) diff.reopened.push(item)
    if (old.section !== item.section) diff.moved.push({ item, from: old.section, to: item.section })
    if (old.text !== item.text) diff.rewritten.push({ item, before: old.text, after: item.text })
  }
  diff.dropped.push(...before.values())
  return diff
}
