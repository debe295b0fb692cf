/** What of a work item's head stands in columns, to find it by. */
import type { ConversationInfo } from '../../views/conversation.ts'

export interface WorkColumns {
  state: string | null
  priority: number | null
  /** Of a task. */
  feature: string | null
}

/** @param info undefined when it cannot be read */
export function workColumns(info: ConversationInfo | undefined): WorkColumns {
  const { work, workItem } = info ?? {}
  return {
    state: work?.state ?? null,
    // Tasks have none of their own here: their graph does.
    priority: work ? ('priority' in work ? work.priority : 0) : null,
    feature: workItem?.type === 'task' ? workItem.featureId : null,
  }
}
