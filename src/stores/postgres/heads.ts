/** Heads of conversations and sessions as decisions look at them, with the sums of each lane; many in one query. */
import { hash } from 'node:crypto'
import type { Proposal } from '../../log/event-log.ts'
import type { Audience } from '../../log/events/audience.ts'
import { idProblem } from '../../log/events/id.ts'
import { workItemKey } from '../../log/events/work-item.ts'
import { infoIn, sessionHeadIn } from '../../log/fold.ts'
import type { Lane, LaneKind, LaneSums } from '../../log/records/lane.ts'
import { isoTime } from '../../log/time.ts'
import type { ConversationHead } from '../../log/views/conversation.ts'
import { changedAtMs, type SessionHead } from '../../log/views/session.ts'
import { isVisible, viewerOf } from '../../log/visibility.ts'
import type { Run } from './database.ts'
import { refold } from './refold.ts'

/** A conversation and all that appending to it needs. */
export interface ConversationEntry {
  /** The numbers of its project and of itself. */
  project: number
  conversation: number
  /** Its id as the column has it; a damaged head may say another. */
  id: string
  head: ConversationHead
  hash: Uint8Array
  lanes: ReadonlyMap<string, LaneEntry>
  /** Those that the query asked for. */
  sessions: ReadonlyMap<string, SessionHead>
}

export interface LaneEntry extends Lane {
  /** The key of its kind and audience. */
  key: string
  lane: number
  audienceOf: Audience
  sums: LaneSums
  lastAt: number
}

export interface Heads {
  entry: ConversationEntry | undefined
  session: SessionHead | undefined
}

/** The conversation, the session or both that a proposal names. */
export interface HeadQuery {
  project: string
  number: number
  id: string | null
  /** Hashes of the work item's key, and of the session's. */
  work: string | null
  sessionKey: string | null
  session: string | null
}

export function headQuery(
  { project, conversation, session }: Pick<Proposal, 'project' | 'conversation' | 'session'>,
  number: number,
): HeadQuery {
  const named = conversation === 'of-session' ? undefined : conversation
  return {
    project,
    number,
    id: named && !named.workItem && !idProblem(named.id) ? named.id : null,
    work: named?.workItem ? workHash(named.workItem) : null,
    session: session && 'id' in session && !idProblem(session.id) ? session.id : null,
    sessionKey: session && 'key' in session ? hashed(session.key) : null,
  }
}

/** SQL that finds for each query `w` of the JSON in `$1` its session `s` and its conversation `c`. */
export const queriedRows = `json_to_recordset($1) as w(n integer, number bigint, id text, work text, session text,
    "sessionKey" text, named text, once text)
  left join lateral (
    select id, conversation, head from sessions where project = w.number and id = w.session
    union all
    select id, conversation, head from sessions
    where project = w.number and session_key = w."sessionKey" and status = 'active'
    limit 1) s on true
  left join lateral (
    select * from conversations where project = w.number and id = w.id
    union all
    select * from conversations where project = w.number and work_key = w.work
    union all
    select * from conversations
    where project = w.number and conversation = s.conversation and w.id is null and w.work is null
    limit 1) c on true`

/** The JSON that `queriedRows` reads. */
export function queryJson(queries: readonly HeadQuery[]): string {
  return JSON.stringify(queries.map(({ project: _, ...query }, n) => ({ n, ...query })))
}

const selectHeads = `
  select w.n, s.id, s.conversation, s.head, c.conversation, c.id, c.info, c.version, c.hash, c.active_at, (
    select json_agg(json_build_array(l.lane, l.kind, l.audience, l.audience_key,
      e.messages, e.tokens, e.input, e.output, e.at))
    from lanes l cross join lateral (
      select messages, tokens, input, output, at from events
      where project = l.project and conversation = l.conversation and lane = l.lane
      order by version desc limit 1) e
    where l.project = c.project and l.conversation = c.conversation)
  from ${queriedRows} order by w.n`

type HeadRow = [
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

/** Reads the heads that each query asks for, in one snapshot. */
export async function readHeads(run: Run, queries: readonly HeadQuery[]): Promise<Heads[]> {
  if (queries.length === 0) return []
  const heads: Heads[] = []
  for (const row of await run<HeadRow>(selectHeads, [queryJson(queries)])) {
    heads.push(await headsIn(run, row, queries[row[0]]!))
  }
  return heads
}

async function headsIn(run: Run, row: HeadRow, { project, number }: HeadQuery): Promise<Heads> {
  const [, sessionId, sessionConversation, sessionText, conversation, id, infoText, version, hash, activeAt, lanes] =
    row
  let session: SessionHead | undefined
  if (sessionId !== null && sessionText !== null) {
    session = sessionHeadIn(sessionText, () => undefined)
    if (!session && sessionConversation !== null) {
      const place = { project, conversationId: id ?? '' }
      session = (await refold(run, number, sessionConversation, place)).sessions.get(sessionId)
    }
  }
  if (conversation === null || id === null) return { entry: undefined, session }
  const place = { project, conversationId: id }
  const info = infoIn(infoText ?? '', () => undefined) ?? (await refold(run, number, conversation, place)).info
  const entry: ConversationEntry = {
    project: number,
    conversation,
    id,
    head: { info, version: version!, activeAt: isoTime(activeAt!) },
    hash: hash!,
    lanes: new Map((lanes ?? []).map(laneIn).map(lane => [lane.key, lane])),
    sessions: new Map(session && sessionConversation === conversation ? [[session.id, session]] : []),
  }
  return { entry, session }
}

/** Milliseconds of the last change to the session itself, or to the lanes it sees. */
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

export function workHash(workItem: Parameters<typeof workItemKey>[0]): string {
  return hashed(workItemKey(workItem))
}
