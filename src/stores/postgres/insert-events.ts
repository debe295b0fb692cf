/** Rows on their way to the server, grouped by conversation, and the one call that writes them. */
import type { Run } from './database.ts'

/** A conversation's part in a call. */
export interface GroupRow {
  g: number
  /** The lock of its conversation. */
  k: string
  p: number
  c: number
  /** The version that was decided on; left out where nothing depends on it. */
  expected?: number
  version?: number
  hash?: string
  at?: number
  recent?: number
  /** Where they changed, or the conversation is new. */
  status?: string
  info?: string
  grams?: string[]
  due?: number | null
  /** Of a work item: where it stands. */
  state?: string
  priority?: number
  /** Of a new conversation. */
  id?: string
  work?: string
  kind?: string
  feature?: string
  created?: number
  /** Of a new branch: the number of its parent, and where it leaves it. */
  parent?: number
  branched?: number
}

/** An event. Bytes are hexadecimal. */
export interface InsertRow {
  g: number
  p: number
  c: number
  v: number
  /** Its place in the call. */
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
  salt: string | null
  body: string | null
  digest: string
  hash: string
}

export interface LaneRow {
  g: number
  p: number
  c: number
  lane: number
  key: string
  kind: string
  audience: string
}

export interface SessionRow {
  g: number
  n: number
  p: number
  c: number
  id: string
  key: string
  agent: string
  status: string
  expires: number | null
  compactions: number
  head: string
  new: boolean
}

export interface KeyRow {
  g: number
  p: number
  key: string
  digest: string
  conversation: string
  first: number
  last: number
  session: string | null
}

export interface FenceRow {
  g: number
  p: number
  name: string
  generation: number
  /** Null for the server's clock. */
  now: number | null
}

export interface BlobRow {
  g: number
  p: number
  c: number
  v: number
  digest: string
  json: string
}

export interface Batch {
  groups: GroupRow[]
  rows: InsertRow[]
  lanes: LaneRow[]
  sessions: SessionRow[]
  keys: KeyRow[]
  fences: FenceRow[]
  blobs: BlobRow[]
}

export function emptyBatch(): Batch {
  return { groups: [], rows: [], lanes: [], sessions: [], keys: [], fences: [], blobs: [] }
}

export interface Refusal {
  g: number
  /** The conversation moved on; a key was used before; a lease is not held. */
  why: 'moved' | 'key' | 'fence'
  what: string | null
}

/**
 * One event more in a conversation that is there, and nothing else to write: a single plain statement, a third of the
 * work of the general call. It takes its locks in the same order: the table's when it starts, the conversation's before
 * the update that gives the transaction its number. A conversation that moved on matches no row.
 */
const insertOne = `
  with held as materialized (select pg_advisory_xact_lock($1)), moved as (
    update conversations set version = $5, hash = $6, active_at = $7, recent_at = greatest(recent_at, $8)
    from held where project = $2 and conversation = $3 and version = $4
    returning pg_current_xact_id()::text::bigint + $9 as tx)
  insert into events (project, conversation, version, tx, n, type, schema, at, actor, channel, request, message,
    lane, messages, tokens, input, output, crc, salt, body, digest, hash)
  select $2, $3, $5, moved.tx, 0, $10, $11, $7, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $6
  from moved returning tx`

function isPlain({ groups, rows, lanes, sessions, keys, fences, blobs }: Batch): boolean {
  const [group] = groups
  return (
    groups.length === 1 &&
    rows.length === 1 &&
    group!.info === undefined &&
    (group!.expected ?? 0) > 0 &&
    lanes.length + sessions.length + keys.length + fences.length + blobs.length === 0
  )
}

async function insertPlain(run: Run, base: number, batch: Batch): Promise<{ tx: number; refused: Refusal[] }> {
  const [group] = batch.groups as [Required<GroupRow>]
  const [row] = batch.rows as [InsertRow]
  const bytes = (hex: string | null) => (hex === null ? null : Buffer.from(hex, 'hex'))
  const [written] = await run<[number]>(insertOne, [
    group.k,
    group.p,
    group.c,
    group.expected,
    group.version,
    bytes(group.hash),
    row.at,
    group.recent,
    base,
    row.type,
    row.schema,
    row.actor,
    row.channel,
    row.request,
    row.message,
    row.lane,
    row.messages,
    row.tokens,
    row.input,
    row.output,
    row.crc,
    bytes(row.salt),
    row.body,
    bytes(row.digest),
  ])
  return written ? { tx: written[0], refused: [] } : { tx: 0, refused: [{ g: group.g, why: 'moved', what: null }] }
}

/** The transaction's number, and the groups that were not written. `firstPlace` counts on within one transaction. */
export async function insertEvents(
  run: Run,
  base: number,
  batch: Batch,
  firstPlace = 0,
): Promise<{ tx: number; refused: Refusal[] }> {
  if (firstPlace === 0 && isPlain(batch)) return insertPlain(run, base, batch)
  const json = (rows: readonly unknown[]) => (rows.length === 0 ? null : JSON.stringify(rows))
  const [row] = await run<[{ tx: number; refused: Refusal[] | null }]>(
    'select append_events($1, $2, $3, $4, $5, $6, $7, $8, $9)',
    [
      base,
      firstPlace,
      JSON.stringify(batch.groups),
      JSON.stringify(batch.rows),
      json(batch.lanes),
      json(batch.sessions),
      json(batch.keys),
      json(batch.fences),
      json(batch.blobs),
    ],
  )
  const { tx, refused } = row![0]
  return { tx, refused: refused ?? [] }
}
