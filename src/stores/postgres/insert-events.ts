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
  /** Of a new conversation. */
  id?: string
  work?: string
  kind?: string
  created?: number
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

/** The transaction's number, and the groups that were not written. `firstPlace` counts on within one transaction. */
export async function insertEvents(
  run: Run,
  base: number,
  batch: Batch,
  firstPlace = 0,
): Promise<{ tx: number; refused: Refusal[] }> {
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
