/** Rows on their way to the server, grouped by conversation, and the one call that writes them. */
import { byteaColumn, int4Column, int8Column, textColumn } from '../array-column.ts'
import type { Run } from '../database.ts'
import type { Value } from '../value.ts'

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
  hash?: Uint8Array
  at?: number
  /** Where it is another minute than before. */
  recent?: number
  /** Where they changed, or the conversation is new; all of them then. */
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

/** An event. Its place in the call is its place among the rows. */
export interface InsertRow {
  g: number
  p: number
  c: number
  v: number
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
const insertOne = (beside = '') => `
  with held as materialized (select pg_advisory_xact_lock($1)), moved as (
    update ends set version = $5, hash = $6, active_at = $7
    from held where project = $2 and conversation = $3 and version = $4
    returning pg_current_xact_id()::text::bigint + $8 as tx)${beside}
  insert into events (project, conversation, version, tx, n, type, schema, at, actor, channel, request, message,
    lane, messages, tokens, input, output, crc, salt, body, digest, hash)
  select $2, $3, $5, moved.tx, 0, $9, $10, $7, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $6
  from moved returning tx`

const insertPlainEvent = insertOne()
/** The first of a minute. */
const insertRecentEvent = insertOne(`, seen as (
    update conversations c set recent_at = greatest(c.recent_at, $24) from moved
    where c.project = $2 and c.conversation = $3)`)

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

function insertPlain(run: Run, base: number, batch: Batch): Promise<{ tx: number; refused: Refusal[] }> {
  const [group] = batch.groups as [MovedRow & Pick<GroupRow, 'k'>]
  const [row] = batch.rows as [InsertRow]
  const values = [
    group.k,
    group.p,
    group.c,
    group.expected,
    group.version,
    group.hash,
    row.at,
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
    row.salt,
    row.body,
    row.digest,
  ]
  const writing =
    group.recent === undefined
      ? run<[number]>(insertPlainEvent, values)
      : run<[number]>(insertRecentEvent, [...values, group.recent])
  return writing.then(([written]) =>
    written ? { tx: written[0], refused: [] } : { tx: 0, refused: [{ g: group.g, why: 'moved', what: null }] },
  )
}

const parameters = 38
const insertAll = `select append_events(${Array.from({ length: parameters }, (_, index) => `$${index + 1}`).join(', ')})`

/** The transaction's number, and the groups that were not written. `firstPlace` counts on within one transaction. */
export function insertEvents(
  run: Run,
  base: number,
  batch: Batch,
  firstPlace = 0,
): Promise<{ tx: number; refused: Refusal[] }> {
  if (firstPlace === 0 && isPlain(batch)) return insertPlain(run, base, batch)
  const writing = run<[{ tx: number; refused: Refusal[] }]>(insertAll, [
    base,
    firstPlace,
    ...groupColumns(batch.groups),
    ...eventColumns(batch.rows),
    json(batch.groups.filter(isChanged), hexHash),
    json(batch.lanes),
    json(batch.sessions),
    json(batch.keys),
    json(batch.fences),
    json(batch.blobs),
  ])
  return writing.then(([row]) => row![0])
}

/** Its head is new, or more of it changes than where it stands. */
function isChanged({ info }: GroupRow): boolean {
  return info !== undefined
}

type MovedRow = Required<Pick<GroupRow, 'g' | 'p' | 'c' | 'expected' | 'version' | 'hash' | 'at'>> &
  Pick<GroupRow, 'recent'>

function isMoved(group: GroupRow): boolean {
  return group.expected !== undefined && !isChanged(group)
}

function groupColumns(groups: readonly GroupRow[]): Value[] {
  const moved = groups.filter(isMoved) as MovedRow[]
  return [
    int8Column(locksOf(groups), lock => lock),
    int4Column(moved, one => one.g),
    int8Column(moved, one => one.p),
    int8Column(moved, one => one.c),
    int4Column(moved, one => one.expected),
    int4Column(moved, one => one.version),
    byteaColumn(moved, one => one.hash),
    int8Column(moved, one => one.at),
    moved.some(one => one.recent !== undefined) ? int8Column(moved, one => one.recent ?? null) : null,
  ]
}

/** All take their locks in the order of their numbers, or two would wait for each other. */
function locksOf(groups: readonly GroupRow[]): bigint[] {
  const locks = new Set<bigint>()
  for (const { k } of groups) locks.add(BigInt(k))
  return [...locks].sort((a, b) => (a < b ? -1 : 1))
}

function eventColumns(rows: readonly InsertRow[]): Value[] {
  return [
    int4Column(rows, row => row.g),
    int8Column(rows, row => row.p),
    int8Column(rows, row => row.c),
    int4Column(rows, row => row.v),
    textColumn(rows, row => row.type),
    int4Column(rows, row => row.schema),
    int8Column(rows, row => row.at),
    textColumn(rows, row => row.actor),
    textColumn(rows, row => row.channel),
    textColumn(rows, row => row.request),
    textColumn(rows, row => row.message),
    int4Column(rows, row => row.lane),
    int8Column(rows, row => row.messages),
    int8Column(rows, row => row.tokens),
    int8Column(rows, row => row.input),
    int8Column(rows, row => row.output),
    int8Column(rows, row => row.crc),
    byteaColumn(rows, row => row.salt),
    textColumn(rows, row => row.body),
    byteaColumn(rows, row => row.digest),
    byteaColumn(rows, row => row.hash),
  ]
}

/** Null where there are none: then the server does not look. */
function json<Row>(rows: readonly Row[], as: (row: Row) => unknown = row => row): string | null {
  return rows.length === 0 ? null : JSON.stringify(rows.map(as))
}

function hexHash(group: GroupRow): unknown {
  return { ...group, hash: Buffer.from(group.hash!).toString('hex') }
}
