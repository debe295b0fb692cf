/** A work item said in a query: `type=task&featureId=login&taskId=form`. */
import { InvalidRequest } from '../../errors.ts'
import { WorkItem } from '../../log/events/work-item.ts'

interface Said {
  type?: string | undefined
  featureId?: string | undefined
  taskId?: string | undefined
  beadId?: string | undefined
  threadId?: string | undefined
}

/** Undefined when none is said; a type alone names none. @throws {InvalidRequest} when what is said is no work item */
export function workItemIn({ type, featureId, taskId, beadId, threadId }: Said): WorkItem | undefined {
  const ids = Object.entries({ featureId, taskId, beadId, threadId }).filter(([, id]) => id !== undefined)
  if (ids.length === 0) return undefined
  return demandWorkItem({ ...(type !== undefined && { type }), ...Object.fromEntries(ids) })
}

/** @throws {InvalidRequest} naming what is missing */
export function demandWorkItem(said: Record<string, unknown>): WorkItem {
  const meant = WorkItem.safeParse(said)
  if (meant.success) return meant.data
  throw new InvalidRequest(
    meant.error.issues.map(({ path, message }) => ({ field: `query.${path.join('.')}`, message })),
  )
}
