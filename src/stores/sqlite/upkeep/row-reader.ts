/** Reads the rows that upkeep looks at. */

import { numbersIn } from '../../../log/cursor.ts'
import { idProblem } from '../../../log/events/id.ts'
import { type WorkItem, workItemKey } from '../../../log/events/work-item.ts'
import { infoIn } from '../../../log/fold.ts'
import type { LaneKind } from '../../../log/records/lane.ts'
import { blobsIn, decode, type LoadBlob } from '../../../log/records/record.ts'
import { isIntact } from '../../../log/records/stored-row.ts'
import type {
  ConversationPlace,
  ConversationRow,
  ConversationSummary,
  EnvelopeRow,
  EventRow,
  KeyRow,
  LaneRow,
  PurgeRow,
  RetentionRow,
  RowPage,
  Rows,
  SessionRow,
  TotalsRow,
} from '../../../log/rows.ts'
import type { ConversationInfo } from '../../../log/views/conversation.ts'
import { sessionKey } from '../../../log/views/session.ts'
import type { Database } from '../database.ts'
import { infoColumns } from '../heads/conversations.ts'
import { lastUse, newestPosition } from '../read/event-queries.ts'
import { blobLoader } from '../rows.ts'
import { fileProblems } from './file-problems.ts'

/** The row numbers of a project and of a conversation. */
interface Numbers {
  project: number
  conversation: number
}

const noBlobs: ReadonlyMap<string, string> = new Map()

const selectEvents = `
  select version, type, schema, at, actor, channel, request, message, lane, messages, tokens, input, output,
    salt, body, digest, hash, crc
  from events where conversation = ? and version > ? and version <= ? order by version limit ?`

function statements(database: Database) {
  const ofProject = 'project = (select project from projects where id = ?)'
  return {
    numbers: database.prepare(`
      select c.project, c.conversation from conversations c join projects p using (project) where p.id = ? and c.id = ?`),
    projects: database.prepare('select id from projects order by project'),
    conversations: database.prepare(`
      select id, (select count(*) from events e where e.conversation = c.conversation),
        (select hash from events e where e.position = ${newestPosition('c.conversation')})
      from conversations c where ${ofProject} order by conversation`),
    conversation: database.prepare(`
      select c.info, c.status, c.work_type, c.work_key, c.due_at, c.work_state, c.work_priority,
        coalesce(e.version, 0), e.hash, ${lastUse('c.conversation')}
      from conversations c left join events e on e.position = ${newestPosition('c.conversation')}
      where c.conversation = ?`),
    ofWork: database.prepare(`select id from conversations where ${ofProject} and work_key = ?`),
    branch: database.prepare(`
      select id from conversations where ${ofProject} and json_valid(info)
        and json_extract(info, '$.branchOf.conversationId') = ? limit 1`),
    lanes: database.prepare(
      'select lane, audience_key, kind, audience from lanes where conversation = ? order by lane',
    ),
    sessions: database.prepare(`
      select id, status, head, session_key, project from sessions where conversation = ? order by session`),
    events: database.prepare(selectEvents),
    newestOf: database.prepare(`
      select max(version) from events
      where conversation = ? and lane is null and type in (select value from json_each(?))`),
    keys: database.prepare(`
      select key, digest, conversation_id, first_version, last_version, session_id
      from keys where ${ofProject} and key > ? order by key limit ?`),
    purges: database.prepare(`
      select conversation_id, archive, events, hash, at, actor, channel, request, reason, restored_at
      from purges where ${ofProject} and coalesce(conversation_id = ?, true) order by purge`),
    newestPosition: database.prepare('select position from events where position < ? order by position desc limit 1'),
    // The plus keeps the conversation's index out of it: the query goes by positions.
    envelopes: database.prepare(`
      select e.position, c.id, e.version, e.at, e.actor, e.channel, e.request, e.type
      from events e cross join conversations c
      where e.position > ? and e.position < ? and c.conversation = +e.conversation and c.${ofProject}
      order by e.position desc`),
    totals: database.prepare(`
      select c.id,
        (select count(*) from sessions s where s.conversation = c.conversation and s.status <> 'deleted'),
        coalesce((select max(version) from events e where e.conversation = c.conversation), 0)
          - iif(json_valid(c.info), coalesce(json_extract(c.info, '$.branchOf.version'), 0), 0),
        (select coalesce(sum(iif(json_valid(head), json_extract(head, '$.compactions'), 0)), 0)
          from sessions s where s.conversation = c.conversation),
        total(e.messages), total(e.tokens), total(e.input), total(e.output)
      from conversations c left join lanes l using (conversation) left join events e on e.position = (
        select position from events n where n.conversation = c.conversation and n.lane = l.lane
        order by version desc limit 1)
      where c.${ofProject} and c.id > ? group by c.id order by c.id limit ?`),
    retention: database.prepare(`
      select c.id, c.status, c.created_at, coalesce(${lastUse('c.conversation')}, c.created_at) from conversations c
      where c.${ofProject} and c.id > ? order by c.id limit ?`),
  }
}

export class RowReader implements Rows {
  protected readonly database: Database
  readonly #sql: ReturnType<typeof statements>
  readonly #blobs: (project: number) => LoadBlob

  constructor(database: Database) {
    this.database = database
    this.#sql = statements(database)
    this.#blobs = blobLoader(database)
  }

  async problems(project: string | undefined) {
    return fileProblems(this.database, project)
  }

  async projects(): Promise<string[]> {
    return (this.#sql.projects.all() as Array<[string]>).map(([id]) => id)
  }

  async conversations(project: string): Promise<ConversationSummary[]> {
    const rows = this.#sql.conversations.all(project) as Array<[string, number, Uint8Array | null]>
    return rows.map(([conversationId, events, hash]) => ({ conversationId, events, hash: hash ?? new Uint8Array() }))
  }

  async conversation(place: ConversationPlace): Promise<ConversationRow | undefined> {
    const numbers = this.find(place)
    const row = numbers && (this.#sql.conversation.get(numbers.conversation) as SelectedConversation | undefined)
    if (!row) return undefined
    const [info, status, type, work, due, state, priority, version, hash, activeAt] = row
    const branchOf = this.#branchPoint(place, info)
    return {
      ...{ info, status, version, activeAt: activeAt ?? 0 },
      hash: hash ?? new Uint8Array(),
      ...(branchOf && { branchOf: { ...branchOf, hash: this.#hashAt({ ...place, ...branchOf }) } }),
      isListedAs: head => {
        const [, , ...columns] = infoColumns(head)
        const expected = [head.workItem.type, workItemKey(head.workItem), ...columns]
        return [type, work, due, state, priority].every((column, index) => column === expected[index])
      },
    }
  }

  async conversationOf(project: string, workItem: WorkItem): Promise<string | undefined> {
    return (this.#sql.ofWork.get(project, workItemKey(workItem)) as [string] | undefined)?.[0]
  }

  async branchOf({ project, conversationId }: ConversationPlace): Promise<string | undefined> {
    return (this.#sql.branch.get(project, conversationId) as [string] | undefined)?.[0]
  }

  async lanes(place: ConversationPlace): Promise<LaneRow[]> {
    const rows = this.#sql.lanes.all(this.numberOf(place)) as Array<[number, string, LaneKind, string]>
    return rows.map(([lane, audienceKey, kind, audience]) => ({ lane, audienceKey, kind, audience }))
  }

  async sessions(place: ConversationPlace): Promise<SessionRow[]> {
    const numbers = this.find(place)
    const rows = this.#sql.sessions.all(numbers?.conversation ?? 0) as Array<[string, string, string, string, number]>
    return rows.map(([id, status, head, key, project]) => ({
      ...{ id, status, head },
      isListedAs: session => sessionKey(session) === key && project === numbers?.project,
    }))
  }

  async events(
    place: ConversationPlace,
    { after, upTo = Number.MAX_SAFE_INTEGER, limit }: { after: number; upTo?: number; limit: number },
  ): Promise<EventRow[]> {
    const numbers = this.find(place)
    if (!numbers) return []
    const load = this.#blobs(numbers.project)
    const rows = this.#sql.events.all(numbers.conversation, after, upTo, limit) as SelectedEvent[]
    return rows.map(row => eventRow(row, load))
  }

  async newestOf(place: ConversationPlace, types: readonly string[]): Promise<number | undefined> {
    const row = this.#sql.newestOf.get(this.numberOf(place), JSON.stringify(types)) as [number | null]
    return row[0] ?? undefined
  }

  async keys({ project, after = '', limit }: RowPage): Promise<KeyRow[]> {
    const rows = this.#sql.keys.all(project, after, limit) as Array<
      [string, string, string, number, number, string | null]
    >
    return rows.map(([key, digest, conversationId, firstVersion, lastVersion, sessionId]) => ({
      ...{ key, digest, conversationId, firstVersion, lastVersion, sessionId },
    }))
  }

  async purges(project: string, conversationId?: string): Promise<PurgeRow[]> {
    return (this.#sql.purges.all(project, conversationId ?? null) as SelectedPurge[]).map(purgeRow)
  }

  /** A page is a stretch of positions, whichever projects they are of. */
  async envelopes({ project, before, limit }: { project: string; before?: string | undefined; limit: number }) {
    const below = before === undefined ? Number.MAX_SAFE_INTEGER : numbersIn(before, 1)[0]!
    const [top] = (this.#sql.newestPosition.get(below) as [number] | undefined) ?? []
    if (top === undefined) return { rows: [] }
    const floor = Math.max(0, top - limit)
    const rows = this.#sql.envelopes.all(floor, below, project) as SelectedEnvelope[]
    return {
      rows: rows.map(([position, conversationId, version, at, actor, channel, request, type]) => ({
        cursor: String(position),
        ...({ conversationId, version, at, actor, channel, request, type } satisfies EnvelopeRow),
      })),
      ...(floor > 0 && { next: String(floor + 1) }),
    }
  }

  async totals({ project, after = '', limit }: RowPage): Promise<TotalsRow[]> {
    const rows = this.#sql.totals.all(project, after, limit) as Array<[string, ...number[]]>
    return rows.map(([conversationId, ...numbers]) => {
      const [sessions, events, compactions, messages, tokens, input, output] = numbers as SevenNumbers
      return { conversationId, sessions, events, compactions, messages, tokens, input, output }
    })
  }

  async retention({ project, after = '', limit }: RowPage): Promise<RetentionRow[]> {
    const rows = this.#sql.retention.all(project, after, limit) as Array<[string, string, number, number]>
    return rows.map(([conversationId, status, createdAt, activeAt]) => ({
      ...{ conversationId, status, createdAt, activeAt },
    }))
  }

  protected find({ project, conversationId }: ConversationPlace): Numbers | undefined {
    if (idProblem(project) || idProblem(conversationId)) return undefined
    const row = this.#sql.numbers.get(project, conversationId) as [number, number] | undefined
    return row && { project: row[0], conversation: row[1] }
  }

  /** The number of a conversation; 0, which none has, when it is not there. */
  protected numberOf(place: ConversationPlace): number {
    return this.find(place)?.conversation ?? 0
  }

  /** The point where a branch leaves its parent: by its head, or by its first event if the head cannot be read. */
  #branchPoint(place: ConversationPlace, text: string): ConversationInfo['branchOf'] {
    const info = infoIn(text, () => undefined)
    if (info) return info.branchOf
    const [first] = this.#sql.events.all(this.numberOf(place), 0, Number.MAX_SAFE_INTEGER, 1) as SelectedEvent[]
    if (!first) return undefined
    const event = decode({ type: first[1], schema: first[2], body: first[14], messageId: undefined }, () => undefined)
    return event.type === 'conversation.created' ? event.branchOf : undefined
  }

  #hashAt({ version, ...place }: ConversationPlace & { version: number }): Uint8Array | undefined {
    const [row] = this.#sql.events.all(this.numberOf(place), version - 1, version, 1) as SelectedEvent[]
    return row?.[16]
  }
}

type SevenNumbers = [number, number, number, number, number, number, number]

type SelectedConversation = [
  ...[info: string, status: string, type: string, work: string],
  ...[due: number | null, state: string | null, priority: number | null],
  ...[version: number, hash: Uint8Array | null, activeAt: number | null],
]

type SelectedEnvelope = [
  ...[position: number, conversationId: string, version: number, at: number],
  ...[actor: string, channel: string, request: string | null, type: string],
]

type SelectedEvent = [
  ...[version: number, type: string, schema: number, at: number, actor: string, channel: string],
  ...[request: string | null, message: string | null, lane: number | null],
  ...[messages: number, tokens: number, input: number, output: number],
  ...[salt: Uint8Array | null, body: string | null, digest: Uint8Array, hash: Uint8Array, crc: number],
]

function eventRow(row: SelectedEvent, load: LoadBlob): EventRow {
  const body = row[14]
  const [version, type, at, message, lane] = [row[0], row[1], row[3], row[7], row[8]]
  return {
    version,
    type,
    schema: row[2],
    at,
    actor: row[4],
    channel: row[5],
    request: row[6],
    message,
    lane,
    sums: lane === null ? null : { messages: row[9], tokens: row[10], input: row[11], output: row[12] },
    salt: row[13],
    body,
    digest: row[15],
    hash: row[16],
    isIntact: isIntact({ version, at, lane, type, message, crc: row[17], body }),
    blobs: blobsOf(body, load),
  }
}

function blobsOf(body: unknown, load: LoadBlob): ReadonlyMap<string, string> {
  // In a damaged row it may be anything.
  const digests = typeof body === 'string' ? blobsIn(body) : []
  if (digests.length === 0) return noBlobs
  const blobs = new Map<string, string>()
  for (const digest of digests) {
    const json = load(digest)
    if (json !== undefined) blobs.set(digest, json)
  }
  return blobs
}

type SelectedPurge = [
  ...[conversationId: string, archive: string, events: number, hash: Uint8Array, at: number],
  ...[actor: string, channel: string, request: string | null, reason: string | null, restoredAt: number | null],
]

function purgeRow(row: SelectedPurge): PurgeRow {
  const [conversationId, archive, events, hash, at, actor, channel, requestId, reason, restoredAt] = row
  return {
    ...{ conversationId, archive, events, hash, at, actor, channel },
    ...(requestId !== null && { requestId }),
    ...(reason !== null && { reason }),
    ...(restoredAt !== null && { restoredAt }),
  }
}
