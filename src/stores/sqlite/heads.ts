/**
 * Heads of conversations and sessions, and the lanes' running sums: read from the file, kept for a while, written back
 * in the transaction that changes them.
 *
 * What is kept is good as long as nobody else wrote: `pragma data_version` changes when another connection commits, and
 * then everything kept is dropped. It is frozen: whoever it is handed to cannot change what is written back next.
 */
import { type Audience, audienceOfKey } from '../../log/events/audience.ts'
import type { BranchPoint } from '../../log/events/conversation.ts'
import { idProblem } from '../../log/events/id.ts'
import { type WorkItem, workItemKey } from '../../log/events/work-item.ts'
import { infoIn, sessionHeadIn } from '../../log/fold.ts'
import { frozen } from '../../log/freeze.ts'
import { Recent } from '../../log/lru.ts'
import { type Lane, type LaneKind, type LaneSums, noSums } from '../../log/records/lane.ts'
import { isoTime } from '../../log/time.ts'
import type { ConversationHead, ConversationInfo } from '../../log/views/conversation.ts'
import { stateDueAt } from '../../log/views/conversation-state.ts'
import { changedAtMs, expiryOf, type SessionHead, sessionKey } from '../../log/views/session.ts'
import { isVisible, type Viewer } from '../../log/visibility.ts'
import type { Database } from './database.ts'
import { damaged } from './errors.ts'
import { inVersionOrder, lastUse, newestPosition } from './read/event-queries.ts'
import { refolder } from './refold.ts'

export interface ConversationEntry {
  row: number
  head: ConversationHead
  hash: Uint8Array
  /** The recency stored in the row, which lags behind by up to a minute. */
  recentAt: number
  lanes: Map<string, LaneEntry>
}

export interface LaneEntry extends Lane {
  row: number
  sums: LaneSums
}

/** A lane that a viewer sees, for reading. */
export interface SeenLane {
  row: number
  kind: LaneKind
}

export interface SessionEntry {
  row: number
  head: SessionHead
  /** The expiry stored in the row; undefined where that is not known. */
  expiresAt?: number | null
}

/** How many heads are kept: of sessions as many as seed 003 asks for, of conversations some more. */
const limits = { sessions: 100, conversations: 256 }

const minute = 60_000

/** As long as there are no more, all are looked at: a simpler question, sooner answered. */
const fewLanes = 64

type LaneRow = [lane: number, kind: LaneKind, audienceKey: string]

export type HeadStore = ReturnType<typeof headStore>

export function headStore(database: Database) {
  const conversations = new Recent<ConversationEntry>(limits.conversations)
  const sessions = new Recent<SessionEntry>(limits.sessions)
  const projects = new Map<string, number>()
  /** Where conversations are; all that reading a window needs of them. */
  const rows = new Recent<number>(limits.conversations)
  const seenLanes = new Recent<SeenLane[]>(limits.sessions)
  let seenVersion = -1
  let generation = 0
  let fresh = false
  let refreshedAt = 0

  const sql = {
    dataVersion: database.prepare('pragma data_version'),
    project: database.prepare('select project from projects where id = ?'),
    insertProject: database.prepare('insert into projects (id, created_at) values (?, ?)'),
    byId: database.prepare(`
      select c.conversation, c.recent_at, c.info, e.version, e.hash, ${lastUse('c.conversation')}
      from conversations c join events e on e.position = ${newestPosition('c.conversation')}
      where c.project = ? and c.id = ?`),
    hashAt: database.prepare(inVersionOrder('e.hash')),
    branch: database.prepare(`
      select id from conversations where project = ? and json_valid(info)
        and json_extract(info, '$.branchOf.conversationId') = ? limit 1`),
    byWork: database.prepare('select id from conversations where project = ? and work_key = ?'),
    insertConversation: database.prepare(`
      insert into conversations (project, id, work_key, work_type, work_feature, created_at, recent_at,
        status, info, due_at, work_state, work_priority)
      values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`),
    updateInfo: database.prepare(`
      update conversations set status = ?, info = ?, due_at = ?, work_state = ?, work_priority = ?
      where conversation = ?`),
    updateRecency: database.prepare('update conversations set recent_at = ? where conversation = ?'),
    lane: database.prepare('select lane from lanes where conversation = ? and audience_key = ? and kind = ?'),
    insertLane: database.prepare('insert into lanes (conversation, audience_key, kind, audience) values (?, ?, ?, ?)'),
    lanesAll: database.prepare('select lane, kind from lanes where conversation = ?'),
    lanesFew: database.prepare(
      `select lane, kind, audience_key from lanes where conversation = ? limit ${fewLanes + 1}`,
    ),
    // Every audience but single sessions sorts before 'session ': two index ranges, however many sessions there are.
    lanesSeen: database.prepare(`
      select lane, kind, audience_key from lanes where conversation = ?1 and audience_key < 'session '
      union all
      select lane, kind, audience_key from lanes where conversation = ?1 and audience_key = 'session ' || ?2`),
    sumsUpTo: database.prepare(`
      select messages, tokens, input, output from events
      where conversation = ? and lane = ? and version <= ? order by version desc limit 1`),
    lastAt: database.prepare(`
      select at from events where conversation = ? and lane = ? and version <= ? order by version desc limit 1`),
    // No join: compiling one takes as long as finding the session, and who asks for one session compiles it for that.
    session: database.prepare(`
      select session, head, conversation, (select id from conversations c where c.conversation = s.conversation), project
      from sessions s where project = (select project from projects where id = ?) and id = ?`),
    sessionByKey: database.prepare(
      `select id from sessions where project = ? and session_key = ? and status = 'active'`,
    ),
    insertSession: database.prepare(`
      insert into sessions (project, id, conversation, session_key, agent, status, expires_at, head)
      values (?, ?, ?, ?, ?, ?, ?, ?)`),
    updateSession: database.prepare('update sessions set status = ?, expires_at = ?, head = ? where session = ?'),
    updateHead: database.prepare('update sessions set head = ? where session = ?'),
    postponeExpiry: database.prepare('update sessions set expires_at = ? where session = ?'),
  }

  const refold = refolder(database)
  const keyOf = (project: string, id: string) => `${project}\0${id}`

  function forget(): void {
    generation++
    conversations.clear()
    sessions.clear()
    projects.clear()
    rows.clear()
    seenLanes.clear()
  }

  /**
   * Drops what is kept if another connection wrote. To be called before heads are read.
   *
   * Asked once per turn of the event loop: what another process tells us can reach us only in a later turn.
   */
  function refreshForReading(): void {
    const now = performance.now()
    if (fresh && now - refreshedAt < 1) return
    refreshedAt = now
    refresh()
    if (fresh) return
    fresh = true
    process.nextTick(() => {
      fresh = false
    })
  }

  function refresh(): void {
    const [version] = sql.dataVersion.get() as [number]
    if (version === seenVersion) return
    seenVersion = version
    forget()
  }

  function projectRow(project: string): number | undefined {
    const known = projects.get(project)
    if (known !== undefined) return known
    if (idProblem(project)) return undefined
    const found = sql.project.get(project) as [number] | undefined
    if (found) projects.set(project, found[0])
    return found?.[0]
  }

  function ensureProject(project: string, now: number): number {
    const known = projectRow(project)
    if (known !== undefined) return known
    const row = Number(sql.insertProject.run(project, now).lastInsertRowid)
    projects.set(project, row)
    return row
  }

  function conversation(project: string, id: string): ConversationEntry | undefined {
    const key = keyOf(project, id)
    const known = conversations.get(key)
    if (known) return known
    const projectNumber = projectRow(project)
    if (projectNumber === undefined || idProblem(id)) return undefined
    const found = sql.byId.get(projectNumber, id) as [number, number, string, number, Uint8Array, number] | undefined
    if (!found) return undefined
    const [row, recentAt, info, version, hash, activeAt] = found
    const entry: ConversationEntry = {
      row,
      recentAt,
      hash,
      head: {
        info: frozen(infoIn(info, () => refold(row, { project, conversationId: id }).info)),
        version,
        activeAt: isoTime(activeAt),
      },
      lanes: new Map(),
    }
    conversations.set(key, entry)
    return entry
  }

  function conversationRow(project: string, id: string): number | undefined {
    const key = keyOf(project, id)
    const known = rows.get(key)
    if (known !== undefined) return known
    const entry = conversation(project, id)
    if (entry) rows.set(key, entry.row)
    return entry?.row
  }

  function conversationOf(project: string, workItem: WorkItem): ConversationEntry | undefined {
    const projectNumber = projectRow(project)
    if (projectNumber === undefined) return undefined
    const found = sql.byWork.get(projectNumber, workItemKey(workItem)) as [string] | undefined
    return found && conversation(project, found[0])
  }

  function createConversation(head: ConversationHead, hash: Uint8Array, now: number): ConversationEntry {
    const info = frozen(head.info)
    const recentAt = now - (now % minute)
    const row = Number(
      sql.insertConversation.run(
        ensureProject(info.project, now),
        info.id,
        workItemKey(info.workItem),
        info.workItem.type,
        'featureId' in info.workItem ? info.workItem.featureId : null,
        now,
        recentAt,
        ...infoColumns(info),
      ).lastInsertRowid,
    )
    const entry: ConversationEntry = { row, recentAt, hash, head, lanes: new Map() }
    conversations.set(keyOf(info.project, info.id), entry)
    return entry
  }

  function saveConversation(entry: ConversationEntry, head: ConversationHead, hash: Uint8Array, now: number): void {
    const { info } = head
    if (info !== entry.head.info) {
      frozen(info)
      sql.updateInfo.run(...infoColumns(info), entry.row)
    }
    const recentAt = now - (now % minute)
    const isUse = head.activeAt !== entry.head.activeAt
    if (isUse && recentAt > entry.recentAt) {
      sql.updateRecency.run(recentAt, entry.row)
      entry.recentAt = recentAt
    }
    entry.head = head
    entry.hash = hash
  }

  /** Whether saving a head at this time would leave its row alone. */
  function isRecent(entry: ConversationEntry, now: number): boolean {
    return now - (now % minute) <= entry.recentAt
  }

  function knowsLane(entry: ConversationEntry, lane: Lane): boolean {
    return entry.lanes.has(`${lane.kind} ${lane.audience}`)
  }

  /** The lane for writing, if there is one. */
  function findLane(entry: ConversationEntry, lane: Lane): LaneEntry | undefined {
    const known = entry.lanes.get(`${lane.kind} ${lane.audience}`)
    if (known) return known
    const found = sql.lane.get(entry.row, lane.audience, lane.kind) as [number] | undefined
    if (!found) return undefined
    const sums = sumsIn(sql.sumsUpTo.get(entry.row, found[0], Number.MAX_SAFE_INTEGER))
    return keepLane(entry, { ...lane, row: found[0], sums })
  }

  /** The lane for writing, made if it is new. */
  function lane(entry: ConversationEntry, lane: Lane, audience: Audience): LaneEntry {
    const found = findLane(entry, lane)
    if (found) return found
    const row = Number(
      sql.insertLane.run(entry.row, lane.audience, lane.kind, JSON.stringify(audience)).lastInsertRowid,
    )
    seenLanes.clear()
    return keepLane(entry, { ...lane, row, sums: noSums })
  }

  function keepLane(entry: ConversationEntry, lane: LaneEntry): LaneEntry {
    entry.lanes.set(`${lane.kind} ${lane.audience}`, lane)
    return lane
  }

  /** The lanes a viewer sees, for reading. */
  function lanesSeen(conversationRow: number, viewer: Viewer): readonly SeenLane[] {
    if (viewer.sees === 'everything') {
      return (sql.lanesAll.all(conversationRow) as Array<[number, LaneKind]>).map(([row, kind]) => ({ row, kind }))
    }
    const key = JSON.stringify([conversationRow, viewer])
    const known = seenLanes.get(key)
    if (known) return known
    const few = sql.lanesFew.all(conversationRow) as LaneRow[]
    const rows =
      few.length <= fewLanes ? few : lanesOf(conversationRow, [viewer.sessionId, ...(viewer.continues ?? [])])
    const seen: SeenLane[] = []
    for (const [row, kind, audienceKey] of rows) {
      if (isVisible(audienceOf(audienceKey), viewer)) seen.push({ row, kind })
    }
    seenLanes.set(key, seen)
    return seen
  }

  /** Who sees a lane that no longer says for whom it is cannot be guessed. */
  function audienceOf(key: string): Audience {
    const audience = audienceOfKey(key)
    if (audience) return audience
    throw damaged(database.path, 'a lane does not say whom it is for')
  }

  function lanesOf(conversationRow: number, sessionIds: readonly string[]): LaneRow[] {
    const found = new Map<number, LaneRow>()
    for (const id of sessionIds) {
      for (const row of sql.lanesSeen.all(conversationRow, id) as LaneRow[]) found.set(row[0], row)
    }
    return [...found.values()]
  }

  function session(project: string, id: string): SessionEntry | undefined {
    const key = keyOf(project, id)
    const known = sessions.get(key)
    if (known) return known
    if (idProblem(project) || idProblem(id)) return undefined
    const found = sql.session.get(project, id) as [number, string, number, string | null, number] | undefined
    if (!found) return undefined
    const [row, text, conversationRow, conversationId, projectNumber] = found
    // Damage can take the conversation's row away, and then nothing of the session can be shown.
    if (conversationId === null) return undefined
    projects.set(project, projectNumber)
    rows.set(keyOf(project, conversationId), conversationRow)
    const head = sessionHeadIn(text, () => refold(conversationRow, { project, conversationId }).sessions.get(id))
    if (!head) return undefined
    const entry = { row, head: frozen(head) }
    sessions.set(key, entry)
    return entry
  }

  function sessionByKey(project: string, naturalKey: string): SessionEntry | undefined {
    const projectNumber = projectRow(project)
    if (projectNumber === undefined) return undefined
    const found = sql.sessionByKey.get(projectNumber, naturalKey) as [string] | undefined
    return found && session(project, found[0])
  }

  function saveSession(conversationRow: number, head: SessionHead, now: number): void {
    const expiresAt = expiryOf(head, now) ?? null
    const text = JSON.stringify(frozen(head))
    const known = session(head.project, head.id)
    if (known) {
      if (head.status === known.head.status && isBefore(known.expiresAt, expiresAt)) {
        sql.updateHead.run(text, known.row)
      } else {
        sql.updateSession.run(head.status, expiresAt, text, known.row)
        known.expiresAt = expiresAt
      }
      known.head = head
      return
    }
    const row = Number(
      sql.insertSession.run(
        ensureProject(head.project, now),
        head.id,
        conversationRow,
        sessionKey(head),
        head.agentName,
        head.status,
        expiresAt,
        text,
      ).lastInsertRowid,
    )
    sessions.set(keyOf(head.project, head.id), { row, head, expiresAt })
  }

  /** When the session itself, or a message it sees, last changed. */
  function lastActiveAt(conversationRow: number, head: SessionHead, viewer: Viewer): number {
    let last = changedAtMs(head)
    for (const { row } of lanesSeen(conversationRow, viewer)) {
      const found = sql.lastAt.get(conversationRow, row, Number.MAX_SAFE_INTEGER) as [number] | undefined
      if (found && found[0] > last) last = found[0]
    }
    return last
  }

  return {
    refresh,
    refreshForReading,
    forget,
    /** Changes whenever what was kept was dropped: whoever keeps something of their own compares it. */
    generation: () => generation,
    projectRow,
    ensureProject,
    conversation,
    conversationRow,
    conversationOf,
    createConversation,
    saveConversation,
    isRecent,
    knowsLane,
    findLane,
    lane,
    lanesSeen,
    /** The hash of an event of another conversation, for what hangs on it. */
    hashAt(project: string, { conversationId, version }: BranchPoint): Uint8Array | undefined {
      const row = conversationRow(project, conversationId)
      return row === undefined ? undefined : (sql.hashAt.get(row, version, version) as [Uint8Array] | undefined)?.[0]
    },
    /** A conversation that branches off this one, if there is any. */
    branchOf(project: string, id: string): string | undefined {
      return (sql.branch.get(projectRow(project) ?? 0, id) as [string] | undefined)?.[0]
    },
    sumsUpTo: (conversation: number, lane: number, version: number) =>
      sumsIn(sql.sumsUpTo.get(conversation, lane, version)),
    session,
    sessionByKey,
    saveSession,
    lastActiveAt,
    /** When the newest message of a lane was written. */
    lastAt: (conversation: number, lane: number, upTo: number) =>
      (sql.lastAt.get(conversation, lane, upTo) as [number] | undefined)?.[0],
    postponeExpiry(entry: SessionEntry, expiresAt: number) {
      sql.postponeExpiry.run(expiresAt, entry.row)
      entry.expiresAt = expiresAt
    },
    /** How much is kept; for those who watch over memory. */
    kept: () => ({ conversations: conversations.size, sessions: sessions.size }),
  }
}

/** Whether a stored expiry can stay: the real one is at that time or later, and whoever finds it due looks again. */
function isBefore(stored: number | null | undefined, real: number | null): boolean {
  if (stored === undefined || stored === null || real === null) return stored === real
  return stored <= real
}

function sumsIn(row: unknown): LaneSums {
  if (row === undefined) return noSums
  const [messages, tokens, input, output] = row as [number, number, number, number]
  return { messages, tokens, input, output }
}

/** The columns that say what a head says: status, info, due_at, work_state, work_priority. */
export function infoColumns(info: ConversationInfo): [string, string, number | null, string | null, number | null] {
  const { work, status } = info
  const priority = work && ('priority' in work ? work.priority : 0)
  return [status, JSON.stringify(info), stateDueAt(info) ?? null, work?.state ?? null, priority ?? null]
}
