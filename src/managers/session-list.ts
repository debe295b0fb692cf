/**
 * Lists of sessions by what is shown of them. The log may not say yet that the time of some is over: those are shown as
 * expired, and so a filter has to take them for expired, too.
 */
import type { Engine, Scope } from '../engine.ts'
import type { WorkItem } from '../events/work-item.ts'
import type { Listed } from '../log/directory.ts'
import type { SessionStatus } from '../views/session.ts'
import { checkSessionQuery } from './queries.ts'
import { type Session, sessionFrom } from './session.ts'

export interface ListSessions {
  conversationId?: string
  agentName?: string
  /** A work item's sessions. */
  workItem?: WorkItem
  /** As sessions are shown: one whose time is over is expired, marked or not. Default all but deleted ones. */
  status?: readonly SessionStatus[]
  cursor?: string
  /** Default 50. */
  limit?: number
}

export async function listedSessions(
  engine: Engine,
  { project }: Scope,
  query: ListSessions,
): Promise<Listed<Session>> {
  checkSessionQuery(query)
  const { status, limit = 50 } = query
  const now = engine.clock()
  const items: Session[] = []
  let { cursor } = query
  // What turns out to be over is left out of a page of active ones; it is filled up from what comes behind.
  do {
    const page = await engine.store.sessions({
      ...query,
      project,
      limit: limit - items.length,
      ...(cursor !== undefined && { cursor }),
      ...(status?.includes('expired') && { overdueAt: now }),
    })
    const sessions = await Promise.all(page.items.map(head => sessionFrom(engine, head)))
    items.push(...(status ? sessions.filter(session => status.includes(session.status)) : sessions))
    cursor = page.next
  } while (cursor !== undefined && items.length < limit)
  return { items, ...(cursor !== undefined && { next: cursor }) }
}
