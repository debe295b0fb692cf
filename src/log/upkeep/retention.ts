/** Finds sessions that are no longer in use, and conversations that look due for archiving. The caller decides. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ArchivableQuery, Listed } from '../directory.ts'
import { parsedOr } from '../fold.ts'
import type { RetentionRow, RowStore } from '../rows.ts'
import type { Store } from '../store.ts'
import type { SessionUse } from '../upkeep-work.ts'
import { changedAtMs, expiryOf, type SessionHead } from '../views/session.ts'
import { windowOf } from '../windows.ts'

const pageSize = 1000

/** Max pages of a call. The next call goes on behind them. */
const maxPages = 10

/** Lists the ids of conversations that look due for archiving. */
export function archivable(store: RowStore, query: ArchivableQuery): Promise<Listed<string>> {
  const { project, limit, cursor } = query
  return store.rows(async rows => {
    const items: string[] = []
    let after = cursor
    for (let pages = 0; pages < maxPages; pages++) {
      const page = await rows.retention({ project, after, limit: pageSize })
      for (const row of page) {
        if (!looksDue(row, query)) continue
        if (items.length === limit) return { items, next: items.at(-1)! }
        items.push(row.conversationId)
      }
      if (page.length < pageSize) return { items }
      after = page.at(-1)!.conversationId
      await nextTurn()
    }
    return { items, ...(after !== undefined && { next: after }) }
  })
}

function looksDue(
  { status, createdAt, activeAt }: RetentionRow,
  { completed = false, createdBefore, inactiveSince }: ArchivableQuery,
): boolean {
  if (status === 'archived') return false
  return (
    (completed && status === 'completed') ||
    (createdBefore !== undefined && createdAt <= createdBefore) ||
    (inactiveSince !== undefined && activeAt <= inactiveSince)
  )
}

/** Lists sessions that are expired at `now`. One used since its expiry was stored gets a later one instead. */
export async function expiring(
  store: Store,
  { project, now, limit }: { project: string; now: number; limit: number },
): Promise<SessionHead[]> {
  for (let cursor: string | undefined; ; ) {
    const page = await store.heads({ of: 'sessions', project, expiredAt: now, limit, ...(cursor && { cursor }) })
    const usedAt = await Promise.all(page.items.map(head => lastUse(store, head)))
    const expired: SessionHead[] = []
    for (const [index, head] of page.items.entries()) {
      const expiresAt = expiryOf(head, usedAt[index]!)
      if (expiresAt !== undefined && expiresAt <= now) expired.push(head)
      else {
        const { conversationId, id: sessionId } = head
        await store.upkeep('noteUse', { project, conversationId, sessionId, usedAt: usedAt[index]! })
      }
    }
    if (expired.length > 0 || page.next === undefined) return expired
    cursor = page.next
  }
}

/** Milliseconds of the last change to the session itself, or of the newest message it sees. */
async function lastUse(store: Store, head: SessionHead): Promise<number> {
  // Messages before a branch are no use of a session in the branch.
  const { branchOf: _, ...window } = windowOf(head)
  const { lastActiveAt } = await store.measure(window)
  return Math.max(changedAtMs(head), lastActiveAt === undefined ? 0 : Date.parse(lastActiveAt))
}

/** Moves the stored expiry of a session to the one that follows from its last use. */
export function noteUse(store: RowStore, { project, conversationId, sessionId, usedAt }: SessionUse): Promise<void> {
  const place = { project, conversationId }
  return store.change(place, async rows => {
    const row = (await rows.sessions(place)).find(({ id }) => id === sessionId)
    const head = row && parsedOr<SessionHead | undefined>(row.head, () => undefined)
    if (head?.status !== 'active') return
    await rows.putSessions(place, [{ head, usedAt: Math.max(usedAt, changedAtMs(head)) }])
  })
}
