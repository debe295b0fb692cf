/**
 * Lists of sessions by what is shown of them. The log may not say yet that the time of some is over: those are shown as
 * expired, and so a filter has to take them for expired, too.
 */
import { setImmediate as breathe } from 'node:timers/promises'
import type { Listed } from '../../log/directory.ts'
import type { Engine, Scope } from '../../log/engine.ts'
import type { WorkItem } from '../../log/events/work-item.ts'
import type { SessionStatus } from '../../log/views/session.ts'
import { checkAsked } from '../access/input-schemas.ts'
import { type Session, sessionFrom } from '../access/session.ts'

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

/** After this many measured sessions the event loop runs, because the embedded store answers without a pause. */
const measuredAtOnce = 50

export async function listedSessions(
  engine: Engine,
  { project }: Scope,
  query: ListSessions,
): Promise<Listed<Session>> {
  checkAsked('sessions', query)
  const { status, limit = 50 } = query
  const now = engine.clock()
  const items: Session[] = []
  let { cursor } = query
  // Overdue sessions are left out of a page of active ones. The next page of the store fills it up.
  do {
    const page = await engine.store.sessions({
      ...query,
      project,
      limit: limit - items.length,
      ...(cursor !== undefined && { cursor }),
      ...(status?.includes('expired') && { overdueAt: now }),
    })
    const sessions: Session[] = []
    for (let at = 0; at < page.items.length; at += measuredAtOnce) {
      if (at > 0) await breathe()
      const some = page.items.slice(at, at + measuredAtOnce)
      sessions.push(...(await Promise.all(some.map(head => sessionFrom(engine, head)))))
    }
    items.push(...(status ? sessions.filter(session => status.includes(session.status)) : sessions))
    cursor = page.next
  } while (cursor !== undefined && items.length < limit)
  return { items, ...(cursor !== undefined && { next: cursor }) }
}
