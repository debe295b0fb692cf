/** The statements of an append: each writes all rows of its table, whose columns travel as one array each. */
import type { Run, Value } from '../database.ts'

export interface EventRow {
  project: number
  conversation: number
  version: number
  /** Its place in the transaction. */
  n: number
  type: string
  schema: number
  at: number
  actor: string
  channel: string
  request: string | null
  message: string | null
  lane: number | null
  messages: number | null
  tokens: number | null
  input: number | null
  output: number | null
  crc: number
  salt: Uint8Array | null
  body: string | null
  digest: Uint8Array
  hash: Uint8Array
}

export interface LaneRow {
  project: number
  conversation: number
  lane: number
  audience_key: string
  kind: string
  audience: string
}

export interface SessionRow {
  project: number
  id: string
  conversation: number
  session_key: string
  agent: string
  status: string
  expires_at: number | null
  compactions: number
  head: string
}

export interface KeyRow {
  project: number
  key: string
  digest: string
  conversation_id: string
  first_version: number
  last_version: number
  session_id: string | null
}

export interface BlobRow {
  project: number
  conversation: number
  version: number
  digest: string
  json: string
}

/** The columns of a conversation that every append changes. */
export interface NewestEventRow {
  project: number
  conversation: number
  version: number
  hash: Uint8Array
  active_at: number
  recent_at: number
}

/** The columns of a conversation that change when its head says something else. */
export interface InfoRow {
  project: number
  conversation: number
  status: string
  info: string
  grams: string[]
  due: number | null
  state: string | null
  priority: number | null
}

export interface ConversationRow extends Omit<InfoRow, 'conversation'> {
  id: string
  work: string
  kind: string
  feature: string | null
  created: number
  /** The number of its parent and where it leaves it, of a branch. */
  parent: number | null
  branched: number | null
  version: number
  /** Hexadecimal. */
  hash: string
  active: number
  recent: number
}

type Types<Row> = Record<keyof Row & string, string>

const eventTypes: Types<EventRow> = {
  project: 'bigint',
  conversation: 'bigint',
  version: 'integer',
  n: 'integer',
  type: 'text',
  schema: 'integer',
  at: 'bigint',
  actor: 'text',
  channel: 'text',
  request: 'text',
  message: 'text',
  lane: 'integer',
  messages: 'bigint',
  tokens: 'bigint',
  input: 'bigint',
  output: 'bigint',
  crc: 'bigint',
  salt: 'bytea',
  body: 'text',
  digest: 'bytea',
  hash: 'bytea',
}
const laneTypes: Types<LaneRow> = {
  project: 'bigint',
  conversation: 'bigint',
  lane: 'integer',
  audience_key: 'text',
  kind: 'text',
  audience: 'text',
}
const sessionTypes: Types<SessionRow> = {
  project: 'bigint',
  id: 'text',
  conversation: 'bigint',
  session_key: 'text',
  agent: 'text',
  status: 'text',
  expires_at: 'bigint',
  compactions: 'integer',
  head: 'text',
}
const keyTypes: Types<KeyRow> = {
  project: 'bigint',
  key: 'text',
  digest: 'text',
  conversation_id: 'text',
  first_version: 'integer',
  last_version: 'integer',
  session_id: 'text',
}
const blobTypes: Types<Pick<BlobRow, 'project' | 'digest' | 'json'>> = {
  project: 'bigint',
  digest: 'text',
  json: 'text',
}
const blobUseTypes: Types<Omit<BlobRow, 'json'>> = {
  project: 'bigint',
  conversation: 'bigint',
  version: 'integer',
  digest: 'text',
}
const newestEventTypes: Types<NewestEventRow> = {
  project: 'bigint',
  conversation: 'bigint',
  version: 'integer',
  hash: 'bytea',
  active_at: 'bigint',
  recent_at: 'bigint',
}

/** SQL of rows `x` whose columns are the first parameters. */
function rowsOf(types: Readonly<Record<string, string>>): string {
  const arrays = Object.values(types).map((type, index) => `$${index + 1}::${type}[]`)
  return `unnest(${arrays.join(', ')}) as x(${Object.keys(types).join(', ')})`
}

function columnsOf<Row extends object>(types: Types<Row>, rows: readonly Row[]): Value[] {
  const names = Object.keys(types) as Array<keyof Row>
  return names.map(name => rows.map(row => row[name]) as string[])
}

async function insert<Row extends object>(
  run: Run,
  table: string,
  types: Types<Row>,
  rows: readonly Row[],
  onConflict = '',
): Promise<void> {
  if (rows.length === 0) return
  const names = Object.keys(types).join(', ')
  await run(
    `insert into ${table} (${names}) select ${names} from ${rowsOf(types)} ${onConflict}`,
    columnsOf(types, rows),
  )
}

const eventColumns = Object.keys(eventTypes).join(', ')
const insertEventRows = `
  insert into events (tx, ${eventColumns})
  select pg_current_xact_id()::text::bigint + $${Object.keys(eventTypes).length + 1}, ${eventColumns}
  from ${rowsOf(eventTypes)} returning tx`

/** Returns the number of the transaction in positions, which is that of the server plus `base`; 0 without rows. */
export async function insertEvents(run: Run, base: number, rows: readonly EventRow[]): Promise<number> {
  if (rows.length === 0) return 0
  const [first] = await run<[number]>(insertEventRows, [...columnsOf(eventTypes, rows), base])
  return first![0]
}

/** Returns the numbers that the conversations got, in their order. */
export async function insertConversations(run: Run, rows: readonly ConversationRow[]): Promise<number[]> {
  if (rows.length === 0) return []
  const inserted = await run<[string, number, number]>(
    `insert into conversations (project, id, work_key, work_type, work_state, work_priority, work_feature, status,
      created_at, recent_at, info, title_grams, due_at, branch_of, branch_version, version, hash, active_at)
    select x.project, x.id, x.work, x.kind, x.state, x.priority, x.feature, x.status, x.created, x.recent, x.info,
      x.grams, x.due, x.parent, x.branched, x.version, decode(x.hash, 'hex'), x.active
    from json_to_recordset($1) as x(project bigint, id text, work text, kind text, state text, priority smallint,
      feature text, status text, created bigint, recent bigint, info text, grams text[], due bigint, parent bigint,
      branched integer, version integer, hash text, active bigint)
    returning id, project, conversation`,
    [JSON.stringify(rows)],
  )
  const numbers = new Map(inserted.map(([id, project, conversation]) => [`${project} ${id}`, conversation]))
  return rows.map(({ project, id }) => numbers.get(`${project} ${id}`)!)
}

export async function updateNewestEvents(run: Run, rows: readonly NewestEventRow[]): Promise<void> {
  if (rows.length === 0) return
  await run(
    `update conversations c
    set version = x.version, hash = x.hash, active_at = x.active_at, recent_at = greatest(c.recent_at, x.recent_at)
    from ${rowsOf(newestEventTypes)} where c.project = x.project and c.conversation = x.conversation`,
    columnsOf(newestEventTypes, rows),
  )
}

export async function updateInfos(run: Run, rows: readonly InfoRow[]): Promise<void> {
  if (rows.length === 0) return
  await run(
    `update conversations c
    set status = x.status, info = x.info, title_grams = x.grams, due_at = x.due,
      work_state = coalesce(x.state, c.work_state), work_priority = coalesce(x.priority, c.work_priority)
    from json_to_recordset($1) as x(project bigint, conversation bigint, status text, info text, grams text[], due bigint,
      state text, priority smallint)
    where c.project = x.project and c.conversation = x.conversation`,
    [JSON.stringify(rows)],
  )
}

export function insertLanes(run: Run, rows: readonly LaneRow[]): Promise<void> {
  return insert(run, 'lanes', laneTypes, rows)
}

export function insertSessions(run: Run, rows: readonly SessionRow[]): Promise<void> {
  return insert(run, 'sessions', sessionTypes, rows)
}

/** Those that end come first: one of the others may take over their key. */
export async function updateSessions(run: Run, rows: readonly SessionRow[]): Promise<void> {
  if (rows.length === 0) return
  const sorted = [...rows].sort((a, b) => Number(a.status === 'active') - Number(b.status === 'active'))
  await run(
    `update sessions s
    set status = x.status, expires_at = x.expires_at, compactions = x.compactions, head = x.head
    from ${rowsOf(sessionTypes)} where s.project = x.project and s.id = x.id`,
    columnsOf(sessionTypes, sorted),
  )
}

export function insertKeys(run: Run, rows: readonly KeyRow[], onConflict = ''): Promise<void> {
  return insert(run, 'keys', keyTypes, rows, onConflict)
}

/**
 * Adds sessions, and replaces those that are there. Of two active ones with the same key the older gives way, as in the
 * log.
 */
export async function addSessions(run: Run, rows: readonly SessionRow[]): Promise<void> {
  await insert(run, 'sessions', sessionTypes, rows, 'on conflict do nothing')
  if (rows.length === 0) return
  await run(
    `update sessions s
    set session_key = x.session_key, agent = x.agent, status = x.status, expires_at = x.expires_at,
      compactions = x.compactions, head = x.head
    from ${rowsOf(sessionTypes)}
    where s.project = x.project and s.id = x.id and (x.status <> 'active' or not exists (
      select 1 from sessions o
      where o.project = x.project and o.session_key = x.session_key and o.status = 'active' and o.id <> x.id))`,
    columnsOf(sessionTypes, rows),
  )
}

/** Blobs are shared between conversations: in one order, so that no two transactions wait for each other. */
export async function insertBlobs(run: Run, rows: readonly BlobRow[]): Promise<void> {
  if (rows.length === 0) return
  const sorted = [...rows].sort((a, b) => a.project - b.project || (a.digest < b.digest ? -1 : 1))
  await Promise.all([
    insert(run, 'blobs', blobTypes, sorted, 'on conflict do nothing'),
    insert(run, 'blob_uses', blobUseTypes, sorted, 'on conflict do nothing'),
  ])
}
