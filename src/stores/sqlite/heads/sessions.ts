/** Heads of sessions. */
import { idProblem } from '../../../log/events/id.ts'
import { sessionHeadIn } from '../../../log/fold.ts'
import { changedAtMs, expiryOf, type SessionHead, sessionKey } from '../../../log/views/session.ts'
import type { Viewer } from '../../../log/visibility.ts'
import type { Database } from '../database.ts'
import { refolder } from '../refold.ts'
import { frozen } from './frozen.ts'
import { type HeadCache, keyOf, type SessionEntry } from './head-cache.ts'
import type { laneHeads } from './lanes.ts'
import type { projectRows } from './projects.ts'

type SessionRow = [row: number, head: string, conversation: number, conversationId: string]

export function sessionHeads(
  database: Database,
  cache: HeadCache,
  {
    projectRow,
    ensureProject,
    lanesSeen,
    lastAt,
  }: ReturnType<typeof projectRows> & Pick<ReturnType<typeof laneHeads>, 'lanesSeen' | 'lastAt'>,
) {
  const sql = {
    byId: database.prepare(`
      select s.session, s.head, s.conversation, c.id from sessions s join conversations c using (conversation)
      where s.project = ? and s.id = ?`),
    byKey: database.prepare(`select id from sessions where project = ? and session_key = ? and status = 'active'`),
    insert: database.prepare(`
      insert into sessions (project, id, conversation, session_key, agent, status, expires_at, head)
      values (?, ?, ?, ?, ?, ?, ?, ?)`),
    update: database.prepare('update sessions set status = ?, expires_at = ?, head = ? where session = ?'),
    updateHead: database.prepare('update sessions set head = ? where session = ?'),
  }
  const refold = refolder(database)

  function session(project: string, id: string): SessionEntry | undefined {
    const key = keyOf(project, id)
    const cached = cache.sessions.get(key)
    if (cached) return cached
    const projectNumber = projectRow(project)
    if (projectNumber === undefined || idProblem(id)) return undefined
    const stored = sql.byId.get(projectNumber, id) as SessionRow | undefined
    if (!stored) return undefined
    const [row, text, conversation, conversationId] = stored
    const head = sessionHeadIn(text, () => refold(conversation, { project, conversationId }).sessions.get(id))
    if (!head) return undefined
    const entry = { row, head: frozen(head) }
    cache.sessions.set(key, entry)
    return entry
  }

  function sessionByKey(project: string, naturalKey: string): SessionEntry | undefined {
    const projectNumber = projectRow(project)
    if (projectNumber === undefined) return undefined
    const [id] = (sql.byKey.get(projectNumber, naturalKey) as [string] | undefined) ?? []
    return id === undefined ? undefined : session(project, id)
  }

  function saveSession(conversation: number, head: SessionHead, now: number): void {
    const expiresAt = expiryOf(head, now) ?? null
    const text = JSON.stringify(frozen(head))
    const entry = session(head.project, head.id)
    if (!entry) {
      const { lastInsertRowid } = sql.insert.run(
        ensureProject(head.project, now),
        head.id,
        conversation,
        sessionKey(head),
        head.agentName,
        head.status,
        expiresAt,
        text,
      )
      cache.sessions.set(keyOf(head.project, head.id), { row: Number(lastInsertRowid), head, expiresAt })
      return
    }
    if (head.status === entry.head.status && mayStay(entry.expiresAt, expiresAt)) {
      sql.updateHead.run(text, entry.row)
    } else {
      sql.update.run(head.status, expiresAt, text, entry.row)
      entry.expiresAt = expiresAt
    }
    entry.head = head
  }

  /** The time when the session itself, or a message it sees, last changed. */
  function lastActiveAt(conversation: number, head: SessionHead, viewer: Viewer): number {
    const times = lanesSeen(conversation, viewer).map(lane => lastAt(conversation, lane.row, Number.MAX_SAFE_INTEGER))
    return Math.max(changedAtMs(head), ...times.map(at => at ?? 0))
  }

  return {
    session,
    sessionByKey,
    saveSession,
    lastActiveAt,
  }
}

/** A stored expiry may stay when the real one is not earlier: the sweep looks at the real one when it finds it due. */
function mayStay(stored: number | null | undefined, real: number | null): boolean {
  if (stored === undefined || stored === null || real === null) return stored === real
  return stored <= real
}
