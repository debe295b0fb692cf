/**
 * Heads of conversations and sessions for deciding: read in one question, kept for a while, and used again as long as
 * nobody else wrote. The append itself compares the version, so what is kept may be out of date but is never trusted:
 * what was decided on an old head is refused and decided again on a fresh one.
 */
import { hash } from 'node:crypto'
import type { Proposal } from '../../log/event-log.ts'
import type { Audience } from '../../log/events/audience.ts'
import { idProblem } from '../../log/events/id.ts'
import { workItemKey } from '../../log/events/work-item.ts'
import { infoIn, sessionHeadIn } from '../../log/fold.ts'
import { frozen } from '../../log/freeze.ts'
import { Recent } from '../../log/lru.ts'
import type { Lane, LaneKind, LaneSums } from '../../log/records/lane.ts'
import { isoTime } from '../../log/time.ts'
import type { ConversationHead, ConversationInfo } from '../../log/views/conversation.ts'
import { changedAtMs, type SessionHead, sessionKey } from '../../log/views/session.ts'
import { isVisible, viewerOf } from '../../log/visibility.ts'
import type { Run } from './database.ts'
import type { Refold } from './refold.ts'

/** A conversation as it was when it was last looked at. Not changed: what is recorded makes a new one. */
export interface ConversationEntry {
  /** Of its project and id, by which it is found in memory. */
  key: string
  project: number
  conversation: number
  head: ConversationHead
  hash: Uint8Array
  lanes: ReadonlyMap<string, LaneEntry>
  /** Those that were asked for. */
  sessions: ReadonlyMap<string, SessionHead>
}

export interface LaneEntry extends Lane {
  /** Of its kind and audience. */
  key: string
  lane: number
  audienceOf: Audience
  sums: LaneSums
  lastAt: number
}

export interface Found {
  entry: ConversationEntry | undefined
  session: SessionHead | undefined
}

export type HeadStore = ReturnType<typeof headStore>

const limits = { conversations: 512, sessions: 2048 }

/** What a proposal asks about, for one line of the question. */
interface Wanted {
  project: string
  number: number
  id: string | null
  work: string | null
  session: string | null
  key: string | null
}

type FoundRow = [
  n: number,
  sessionId: string | null,
  sessionConversation: number | null,
  sessionHead: string | null,
  conversation: number | null,
  id: string | null,
  info: string | null,
  version: number | null,
  hash: Uint8Array | null,
  activeAt: number | null,
  lanes: LaneJson[] | null,
]

type LaneJson = [
  lane: number,
  kind: LaneKind,
  audience: string,
  key: string,
  messages: number,
  tokens: number,
  input: number,
  output: number,
  at: number,
]

export function headStore({ refold }: { refold: Refold }) {
  const conversations = new Recent<ConversationEntry>(limits.conversations)
  const bySession = new Places(limits.sessions)
  const byWork = new Places(limits.conversations)

  /** What is kept of what a proposal asks about; undefined when some of it is not. */
  function known({ project, conversation, session }: Proposal): Found | undefined {
    const at =
      conversation === 'of-session'
        ? session && 'id' in session && bySession.get(project, session.id)
        : conversation.workItem
          ? byWork.get(project, workHash(conversation.workItem))
          : conversationKey(project, conversation.id)
    const entry = at === undefined || at === false ? undefined : conversations.get(at)
    if (!entry) return undefined
    if (!session) return { entry, session: undefined }
    const head =
      'id' in session
        ? entry.sessions.get(session.id)
        : [...entry.sessions.values()].find(one => one.status === 'active' && sessionKey(one) === session.key)
    return head && { entry, session: head }
  }

  /** Reads what proposals ask about, in one snapshot. */
  async function load(
    run: Run,
    proposals: ReadonlyArray<{ proposal: Proposal; number: number | undefined }>,
  ): Promise<Found[]> {
    const wanted: Array<Wanted & { n: number }> = []
    for (const [n, { proposal, number }] of proposals.entries()) {
      const { project, conversation, session } = proposal
      if (number === undefined) continue
      const named = conversation === 'of-session' ? undefined : conversation
      wanted.push({
        n,
        project,
        number,
        id: named && !named.workItem && !idProblem(named.id) ? named.id : null,
        work: named?.workItem ? workHash(named.workItem) : null,
        session: session && 'id' in session && !idProblem(session.id) ? session.id : null,
        key: session && 'key' in session ? hashed(session.key) : null,
      })
    }
    const found: Found[] = proposals.map(() => ({ entry: undefined, session: undefined }))
    if (wanted.length === 0) return found
    const rows = await run<FoundRow>(
      `select w.n, s.id, s.conversation, s.head, c.conversation, c.id, c.info, z.version, z.hash, z.active_at, (
        select json_agg(json_build_array(l.lane, l.kind, l.audience, l.audience_key,
          e.messages, e.tokens, e.input, e.output, e.at))
        from lanes l cross join lateral (
          select messages, tokens, input, output, at from events
          where project = l.project and conversation = l.conversation and lane = l.lane
          order by version desc limit 1) e
        where l.project = c.project and l.conversation = c.conversation)
      from json_to_recordset($1) as w(n integer, number bigint, id text, work text, session text, key text)
      left join lateral (
        select id, conversation, head from sessions where project = w.number and id = w.session
        union all
        select id, conversation, head from sessions
        where project = w.number and session_key = w.key and status = 'active'
        limit 1) s on true
      left join lateral (
        select * from conversations where project = w.number and id = w.id
        union all
        select * from conversations where project = w.number and work_key = w.work
        union all
        select * from conversations
        where project = w.number and conversation = s.conversation and w.id is null and w.work is null
        limit 1) c on true
      left join ends z on z.project = c.project and z.conversation = c.conversation`,
      [JSON.stringify(wanted.map(({ project: _, ...rest }) => rest))],
    )
    const asked = new Map(wanted.map(one => [one.n, one]))
    for (const row of rows) found[row[0]] = await entryIn(run, row, asked.get(row[0])!)
    return found
  }

  async function entryIn(run: Run, row: FoundRow, wanted: Wanted): Promise<Found> {
    const [, sessionId, sessionConversation, sessionText, conversation, id, infoText, version, hash, activeAt, lanes] =
      row
    const { project, number } = wanted
    let session: SessionHead | undefined
    if (sessionId !== null && sessionText !== null) {
      session = sessionHeadIn(sessionText, () => undefined)
      if (!session && sessionConversation !== null) {
        session = (await refold(run, number, sessionConversation, { project, conversationId: id ?? '' })).sessions.get(
          sessionId,
        )
      }
    }
    if (conversation === null || id === null || version === null) return { entry: undefined, session }
    const place = { project, conversationId: id }
    const info = infoIn(infoText ?? '', () => undefined) ?? (await refold(run, number, conversation, place)).info
    const key = conversationKey(project, id)
    const before = conversations.get(key)
    // What was read before of the same version is as good.
    const sessions = new Map(
      before?.conversation === conversation && before.head.version === version ? before.sessions : [],
    )
    if (session && sessionConversation === conversation) sessions.set(session.id, session)
    const entry: ConversationEntry = {
      key,
      project: number,
      conversation,
      head: { info, version: version!, activeAt: isoTime(activeAt!) },
      hash: hash!,
      lanes: new Map((lanes ?? []).map(laneIn).map(lane => [lane.key, lane])),
      sessions,
    }
    keep(entry)
    return { entry, session }
  }

  function keep(entry: ConversationEntry): void {
    const { info } = entry.head
    const { key } = entry
    const before = conversations.get(key)
    // Two questions may be answered in another order than they were asked.
    if (before && before.conversation === entry.conversation && before.head.version > entry.head.version) return
    conversations.set(key, entry)
    // Frozen: whoever they are handed to cannot change what is written back next.
    if (before?.head.info !== info) byWork.set(info.project, workHashOf(frozen(info)), key)
    if (before?.sessions === entry.sessions) return
    for (const [id, session] of entry.sessions) {
      bySession.set(info.project, id, key)
      frozen(session)
    }
  }

  function forget(project: string, id: string): void {
    conversations.delete(conversationKey(project, id))
  }

  return { known, load, keep, forget, forgetAll: () => conversations.clear() }
}

/** No id has this sign in it. */
export function conversationKey(project: string, id: string): string {
  return `${project}\0${id}`
}

/** Keys of conversations by something within a project. One map in another: making one key of two takes far longer. */
class Places {
  readonly #projects = new Recent<Recent<string>>(64)
  readonly #limit: number

  constructor(limit: number) {
    this.#limit = limit
  }

  get(project: string, name: string): string | undefined {
    return this.#projects.get(project)?.get(name)
  }

  set(project: string, name: string, key: string): void {
    let names = this.#projects.get(project)
    if (!names) {
      names = new Recent(this.#limit)
      this.#projects.set(project, names)
    }
    names.set(name, key)
  }
}

/** When the session itself, or a message it sees, last changed. */
export function lastActiveAt(entry: ConversationEntry | undefined, head: SessionHead): number {
  let last = changedAtMs(head)
  const viewer = viewerOf(head)
  for (const lane of entry?.lanes.values() ?? []) {
    if (lane.lastAt > last && isVisible(lane.audienceOf, viewer)) last = lane.lastAt
  }
  return last
}

export function laneKeyOf(kind: LaneKind, audienceKey: string): string {
  return `${kind} ${audienceKey}`
}

/** Looking through a few lanes takes less time than making the key of one. */
const few = 8

export function laneNamed(lanes: ReadonlyMap<string, LaneEntry>, kind: LaneKind, audience: string) {
  if (lanes.size > few) return lanes.get(laneKeyOf(kind, audience))
  for (const lane of lanes.values()) if (lane.kind === kind && lane.audience === audience) return lane
  return undefined
}

function laneIn([lane, kind, audience, key, messages, tokens, input, output, at]: LaneJson): LaneEntry {
  return {
    key: laneKeyOf(kind, key),
    lane,
    kind,
    audience: key,
    audienceOf: JSON.parse(audience) as Audience,
    sums: { messages, tokens, input, output },
    lastAt: at,
  }
}

/** A key as columns hold it: of one length, whatever it is made of. */
export function hashed(key: string): string {
  return hash('sha256', key, 'base64url')
}

type WorkItem = Parameters<typeof workItemKey>[0]

export function workHash(workItem: WorkItem): string {
  return hashed(workItemKey(workItem))
}

/** Of what a head says, which nobody changes and every append asks for. */
const knownHashes = new WeakMap<ConversationInfo, string>()

export function workHashOf(info: ConversationInfo): string {
  let known = knownHashes.get(info)
  if (known === undefined) {
    known = workHash(info.workItem)
    knownHashes.set(info, known)
  }
  return known
}
