/** Reads the rows that upkeep looks at. */
import { numbersIn } from '../../../log/cursor.ts'
import { idProblem } from '../../../log/events/id.ts'
import type { WorkItem } from '../../../log/events/work-item.ts'
import type { LaneKind } from '../../../log/records/lane.ts'
import { blobsIn } from '../../../log/records/record.ts'
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
import type { Run } from '../database.ts'
import { hashed, workHash } from '../heads.ts'
import { blobsOf, highestVersion } from '../rows.ts'
import { baseOf } from '../write/branches.ts'
import { infoColumns } from '../write/draft.ts'

/** The numbers of a project and of a conversation. */
export interface Numbers {
  project: number
  conversation: number
}

const noBlobs: ReadonlyMap<string, string> = new Map()

export class RowReader implements Rows {
  protected readonly run: Run
  readonly #numbers = new Map<string, Numbers>()

  constructor(run: Run) {
    this.run = run
  }

  async problems(_: string | undefined): Promise<{ problems: string[]; isReadable: boolean }> {
    return { problems: [], isReadable: true }
  }

  async projects(): Promise<string[]> {
    const rows = await this.run<[string]>('select id from projects order by project')
    return rows.map(([id]) => id)
  }

  async conversations(project: string): Promise<ConversationSummary[]> {
    const rows = await this.run<[string, number, Uint8Array]>(
      `select c.id, c.version - coalesce(c.branch_version, 0), c.hash from conversations c join projects p using (project)
      where p.id = $1 order by c.conversation`,
      [project],
    )
    return rows.map(([conversationId, events, hash]) => ({ conversationId, events, hash }))
  }

  async conversation(place: ConversationPlace): Promise<ConversationRow | undefined> {
    const numbers = await this.find(place)
    if (!numbers) return undefined
    const { project, conversation } = numbers
    const [row] = await this.run<
      [string, string, number, Uint8Array, number, string, string, number | null, string | null, number | null]
    >(
      `select info, status, version, hash, active_at, work_type, work_key, due_at, work_state, work_priority
      from conversations where project = $1 and conversation = $2`,
      [project, conversation],
    )
    const [info, status, version, hash, activeAt, type, work, due, state, priority] = row!
    const branchOf = await baseOf(this.run, project, conversation)
    return {
      ...{ info, status, version, hash, activeAt },
      ...(branchOf && { branchOf }),
      isListedAs: head => isListedAs(head, project, [type, work, due, state, priority]),
    }
  }

  async conversationOf(project: string, workItem: WorkItem): Promise<string | undefined> {
    const [row] = await this.run<[string]>(
      'select c.id from conversations c join projects p using (project) where p.id = $1 and c.work_key = $2',
      [project, workHash(workItem)],
    )
    return row?.[0]
  }

  async branchOf(place: ConversationPlace): Promise<string | undefined> {
    const numbers = await this.find(place)
    if (!numbers) return undefined
    const [row] = await this.run<[string]>(
      'select id from conversations where project = $1 and branch_of = $2 limit 1',
      [numbers.project, numbers.conversation],
    )
    return row?.[0]
  }

  async lanes(place: ConversationPlace): Promise<LaneRow[]> {
    const rows = await this.ofConversation<[number, string, LaneKind, string]>(
      place,
      'select lane, audience_key, kind, audience from lanes where project = $1 and conversation = $2 order by lane',
    )
    return rows.map(([lane, audienceKey, kind, audience]) => ({ lane, audienceKey, kind, audience }))
  }

  async sessions(place: ConversationPlace): Promise<SessionRow[]> {
    const rows = await this.ofConversation<[string, string, string, string]>(
      place,
      'select id, status, head, session_key from sessions where project = $1 and conversation = $2 order by session',
    )
    return rows.map(([id, status, head, key]) => ({
      ...{ id, status, head },
      isListedAs: session => hashed(sessionKey(session)) === key,
    }))
  }

  async events(
    place: ConversationPlace,
    { after, upTo = highestVersion, limit }: { after: number; upTo?: number; limit: number },
  ): Promise<EventRow[]> {
    const rows = await this.ofConversation<SelectedEvent>(
      place,
      `select version, type, schema, at, actor, channel, request, message, lane, messages, tokens, input, output,
        salt, body, digest, hash, crc
      from events where project = $1 and conversation = $2 and version > $3 and version <= $4
      order by version limit $5`,
      [after, Math.min(upTo, highestVersion), limit],
    )
    if (rows.length === 0) return []
    const { project } = (await this.find(place))!
    const load = await blobsOf(
      this.run,
      project,
      rows.map(row => row[14]),
    )
    return rows.map(row => eventRow(row, load))
  }

  async newestOf(place: ConversationPlace, types: readonly string[]): Promise<number | undefined> {
    const [row] = await this.ofConversation<[number]>(
      place,
      `select version from events where project = $1 and conversation = $2 and lane is null and type = any($3::text[])
      order by version desc limit 1`,
      [types],
    )
    return row?.[0]
  }

  async keys({ project, after = '', limit }: RowPage): Promise<KeyRow[]> {
    const rows = await this.run<[string, string, string, number, number, string | null]>(
      `select key, digest, conversation_id, first_version, last_version, session_id
      from keys join projects p using (project) where p.id = $1 and key > $2 order by key limit $3`,
      [project, after, limit],
    )
    return rows.map(([key, digest, conversationId, firstVersion, lastVersion, sessionId]) => ({
      ...{ key, digest, conversationId, firstVersion, lastVersion, sessionId },
    }))
  }

  async purges(project: string, conversationId?: string): Promise<PurgeRow[]> {
    const rows = await this.run<SelectedPurge>(
      `select conversation_id, archive, events, hash, at, actor, channel, request, reason, restored_at
      from purges join projects p using (project)
      where p.id = $1 and ($2::text is null or conversation_id = $2) order by purge`,
      [project, conversationId ?? null],
    )
    return rows.map(purgeRow)
  }

  async envelopes({ project, before, limit }: { project: string; before?: string; limit: number }) {
    const [tx, n] = before === undefined ? [Number.MAX_SAFE_INTEGER, 0] : numbersIn(before, 2)
    const rows = await this.run<[number, number, string, number, number, string, string, string | null, string]>(
      `select e.tx, e.n, c.id, e.version, e.at, e.actor, e.channel, e.request, e.type
      from (
        select * from events where project = (select project from projects where id = $1) and (tx, n) < ($2, $3)
        order by tx desc, n desc limit $4) e
      join conversations c on c.project = e.project and c.conversation = e.conversation
      order by e.tx desc, e.n desc`,
      [project, tx!, n!, limit],
    )
    const found = rows.map(([tx, n, conversationId, version, at, actor, channel, request, type]) => ({
      cursor: `${tx}.${n}`,
      ...({ conversationId, version, at, actor, channel, request, type } satisfies EnvelopeRow),
    }))
    return { rows: found, ...(rows.length === limit && { next: found.at(-1)!.cursor }) }
  }

  async totals({ project, after = '', limit }: RowPage): Promise<TotalsRow[]> {
    const rows = await this.run<[string, number, number, number, number, number, number, number]>(
      `select c.id, s.sessions, c.version - coalesce(c.branch_version, 0), s.compactions,
        l.messages, l.tokens, l.input, l.output
      from conversations c
      cross join lateral (
        select count(*) filter (where status <> 'deleted') as sessions,
          coalesce(sum(compactions), 0)::bigint as compactions
        from sessions where project = c.project and conversation = c.conversation) s
      cross join lateral (
        select coalesce(sum(e.messages), 0)::bigint as messages, coalesce(sum(e.tokens), 0)::bigint as tokens,
          coalesce(sum(e.input), 0)::bigint as input, coalesce(sum(e.output), 0)::bigint as output
        from lanes n cross join lateral (
          select messages, tokens, input, output from events
          where project = n.project and conversation = n.conversation and lane = n.lane
          order by version desc limit 1) e
        where n.project = c.project and n.conversation = c.conversation) l
      where c.project = (select project from projects where id = $1) and c.id > $2 order by c.id limit $3`,
      [project, after, limit],
    )
    return rows.map(([conversationId, sessions, events, compactions, messages, tokens, input, output]) => ({
      ...{ conversationId, sessions, events, compactions },
      ...{ messages, tokens, input, output },
    }))
  }

  async retention({ project, after = '', limit }: RowPage): Promise<RetentionRow[]> {
    const rows = await this.run<[string, string, number, number]>(
      `select id, status, created_at, active_at from conversations
      where project = (select project from projects where id = $1) and id > $2 order by id limit $3`,
      [project, after, limit],
    )
    return rows.map(([conversationId, status, createdAt, activeAt]) => ({
      ...{ conversationId, status, createdAt, activeAt },
    }))
  }

  /** The numbers of a conversation and of its project. */
  protected async find({ project, conversationId }: ConversationPlace): Promise<Numbers | undefined> {
    const key = `${project}\0${conversationId}`
    const cached = this.#numbers.get(key)
    if (cached || idProblem(project) || idProblem(conversationId)) return cached
    const [row] = await this.run<[number, number]>(
      `select c.project, c.conversation from conversations c join projects p using (project)
      where p.id = $1 and c.id = $2`,
      [project, conversationId],
    )
    if (!row) return undefined
    const numbers = { project: row[0], conversation: row[1] }
    this.#numbers.set(key, numbers)
    return numbers
  }

  /** Runs a statement whose first parameters are the numbers of a conversation. */
  protected async ofConversation<Row>(
    place: ConversationPlace,
    sql: string,
    values: Parameters<Run>[1] = [],
  ): Promise<Row[]> {
    const numbers = await this.find(place)
    return numbers ? this.run<Row>(sql, [numbers.project, numbers.conversation, ...values]) : []
  }
}

type SelectedEvent = [
  ...[version: number, type: string, schema: number, at: number, actor: string, channel: string],
  ...[request: string | null, message: string | null, lane: number | null],
  ...[messages: number, tokens: number, input: number, output: number],
  ...[salt: Uint8Array | null, body: string | null, digest: Uint8Array, hash: Uint8Array, crc: number],
]

function eventRow(row: SelectedEvent, load: (digest: string) => string | undefined): EventRow {
  const [version, type, schema, at, actor, channel, request, message, lane] = row
  const [messages, tokens, input, output, salt, body, digest, hash, crc] = row.slice(9) as [
    ...[number, number, number, number],
    ...[Uint8Array | null, string | null, Uint8Array, Uint8Array, number],
  ]
  return {
    ...{ version, type, schema, at, actor, channel, request, message, lane, salt, body, digest, hash },
    sums: lane === null ? null : { messages, tokens, input, output },
    // A lane's number means something within its conversation only; the hash covers whom the lane is for.
    isIntact: isIntact({ version, at, lane: null, type, message, crc, body }),
    blobs: blobsOfBody(body, load),
  }
}

function blobsOfBody(body: string | null, load: (digest: string) => string | undefined): ReadonlyMap<string, string> {
  const digests = body === null ? [] : blobsIn(body)
  if (digests.length === 0) return noBlobs
  return new Map(
    digests.flatMap(digest => {
      const json = load(digest)
      return json === undefined ? [] : [[digest, json] as const]
    }),
  )
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

type ListedColumns = [type: string, work: string, due: number | null, state: string | null, priority: number | null]

function isListedAs(info: ConversationInfo, project: number, columns: ListedColumns): boolean {
  const { due, state, priority } = infoColumns(project, info)
  const expected: ListedColumns = [info.workItem.type, workHash(info.workItem), due, state, priority]
  return columns.every((column, index) => column === expected[index])
}
