/** Work items. Each has one conversation, the log of everything said and done about it. */
import { z } from 'zod'
import { Id } from './id.ts'

export const WorkItem = z.discriminatedUnion('type', [
  z.object({ type: z.literal('feature'), featureId: Id }),
  z.object({ type: z.literal('task'), featureId: Id, taskId: Id }),
  z.object({ type: z.literal('bead'), beadId: Id }),
  z.object({ type: z.literal('thread'), threadId: Id }),
])
export type WorkItem = z.infer<typeof WorkItem>

export const WorkItemType = z.enum(['feature', 'task', 'bead', 'thread'])

/** Returns one string per work item within a project. Used for look-up only and never parsed. */
export function workItemKey(item: WorkItem): string {
  switch (item.type) {
    case 'feature':
      return JSON.stringify(['feature', item.featureId])
    case 'task':
      return JSON.stringify(['task', item.featureId, item.taskId])
    case 'bead':
      return JSON.stringify(['bead', item.beadId])
    case 'thread':
      return JSON.stringify(['thread', item.threadId])
  }
}
