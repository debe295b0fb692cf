/**
 * The session a new one comes after: the newest of the same agent, work item and state, still active or gone for want of
 * use. One that somebody put away or deleted has no successor; whoever comes then is new.
 */
import type { WorkItem } from '../events/work-item.ts'
import type { Store } from '../log/store.ts'
import { type SessionHead, sessionKey } from '../views/session.ts'

/** Which session is meant. */
export interface SessionPlace {
  agentName: string
  workItem: WorkItem
  taskState?: string
}

/** Of one place there are seldom more than a few; of an agent on a task, one line of them for each state. */
const looked = 50

export async function sessionBefore(
  store: Store,
  project: string,
  { agentName, workItem, taskState }: SessionPlace,
): Promise<SessionHead | undefined> {
  const active = await store.sessionByKey(project, sessionKey({ agentName, workItem, taskState }))
  if (active) return active
  const status = ['active', 'expired', 'archived', 'deleted'] as const
  let cursor: string | undefined
  do {
    const page = await store.sessions({
      project,
      workItem,
      agentName,
      status,
      limit: looked,
      ...(cursor && { cursor }),
    })
    const here = page.items.filter(head => head.taskState === taskState)
    // By their last use, not by age: an old one may have been reopened.
    const newest = here.reduce<SessionHead | undefined>(
      (last, head) => (last && last.updatedAt >= head.updatedAt ? last : head),
      undefined,
    )
    if (newest) return newest.status === 'active' || newest.status === 'expired' ? newest : undefined
    cursor = page.next
  } while (cursor)
  return undefined
}
