/**
 * Finds the predecessor of a new session: the newest active or expired session with the same natural key. An archived
 * or deleted session has no successor.
 */
import type { WorkItem } from '../../log/events/work-item.ts'
import type { StoreCalls } from '../../log/store.ts'
import { type SessionHead, sessionKey } from '../../log/views/session.ts'

/** The parts of a natural key. */
export interface SessionPlace {
  agentName: string
  workItem: WorkItem
  taskState?: string
}

const pageSize = 50
const factsPageSize = 500

export async function sessionBefore(
  store: StoreCalls,
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
      limit: pageSize,
      ...(cursor && { cursor }),
    })
    const here = page.items.filter(head => head.taskState === taskState)
    const last = await lastInUse(store, here)
    if (last) return last.status === 'active' || last.status === 'expired' ? last : undefined
    cursor = page.next
  } while (cursor)
  return undefined
}

/**
 * The one that was the active one last: the newest, unless an older one was reopened since. Only the log says so: that
 * something changed about an old session later, its metadata for one, is no use of it.
 */
async function lastInUse(store: StoreCalls, here: readonly SessionHead[]): Promise<SessionHead | undefined> {
  const newest = here.reduce<SessionHead | undefined>(
    (last, head) => (last && last.createdAt >= head.createdAt ? last : head),
    undefined,
  )
  if (!newest) return undefined
  // They come in the order they were made. Where their times say otherwise, the clock was set back.
  const isSure = newest === here[0] && !here.some(head => head !== newest && head.updatedAt > newest.createdAt)
  if (isSure) return newest
  const { project, conversationId } = newest
  let to: number | undefined
  do {
    const range = { project, conversationId, backwards: true, facts: true, limit: factsPageSize }
    const events = await store.read(to === undefined ? range : { ...range, to })
    for (const { event } of events) {
      if (event.type !== 'session.created' && event.type !== 'session.reopened') continue
      const found = here.find(head => head.id === event.sessionId)
      if (found) return found
    }
    to = events.length < factsPageSize ? undefined : events.at(-1)!.version - 1
  } while (to !== undefined)
  return newest
}
