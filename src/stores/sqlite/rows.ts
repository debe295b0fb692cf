/** Rows of the events table, and the events they hold. */
import { crc32 } from 'node:zlib'
import type { StoredEvent } from '../../events/event.ts'
import type { RecordedEvent } from '../../events/recorded.ts'
import { decode } from '../../log/record.ts'
import { isoTime } from '../../log/time.ts'
import type { Database } from './database.ts'
import { positionText } from './position.ts'

/** What reading an event back takes, in this order. */
export const eventColumns =
  'e.position, e.version, e.type, e.schema, e.at, e.actor, e.channel, e.request, e.message, e.lane, e.crc, e.body, e.hash'

export type EventRow = [
  position: number,
  version: number,
  type: string,
  schema: number,
  at: number,
  actor: string,
  channel: string,
  request: string | null,
  message: string | null,
  lane: number | null,
  crc: number,
  body: string | null,
  hash: Uint8Array,
]

export type LoadBlob = (digest: string) => string | undefined

/** Looks a blob up; its own digest is checked by `verify`, its presence here. */
export function blobLoader(database: Database): (project: number) => LoadBlob {
  const find = database.prepare('select json from blobs where project = ? and digest = ?')
  return project => digest => {
    const row = find.get(project, digest) as [Uint8Array] | undefined
    return row && Buffer.from(row[0]).toString('utf8')
  }
}

/** What a checksum covers: the content, and the fields that place it. */
export interface ChecksumInput {
  version: number
  at: number
  lane: number | null
  type: string
  message: string | null
  body: string | null
}

/** CRC-32, cheap enough to check on every read: a record that moved or changed is reported, never handed out. */
export function checksum({ version, at, lane, type, message, body }: ChecksumInput): number {
  // In a damaged row a column may hold anything.
  const name = String(message ?? type)
  let place = Math.imul(version, 0x9e3779b1) ^ Math.imul(lane ?? 0, 0x85ebca6b) ^ (at % 0x100000000)
  for (let i = 0; i < name.length; i++) place = Math.imul(place ^ name.charCodeAt(i), 0x01000193)
  return crc32(typeof body === 'string' ? body : String(body ?? ''), place >>> 0)
}

export interface StoredRow extends ChecksumInput {
  schema: number
  crc: number
}

/** The event in a row, or word of its damage. */
export function eventIn(row: StoredRow, loadBlob: LoadBlob): StoredEvent {
  const messageId = row.message ?? undefined
  if (checksum(row) !== row.crc) {
    return { type: 'damaged', storedType: row.type, messageId, reason: 'its stored bytes do not match their checksum' }
  }
  return decode({ type: row.type, schema: row.schema, body: row.body, messageId }, loadBlob)
}

export function recordedEvent(
  row: EventRow,
  place: { project: string; conversationId: string; epoch: string },
  loadBlob: LoadBlob,
): RecordedEvent {
  const [position, version, type, schema, at, actor, channel, request, message, lane, crc, body, hash] = row
  return {
    project: place.project,
    conversationId: place.conversationId,
    version,
    position: positionText(place.epoch, position, hash),
    at: isoTime(at),
    actor,
    channel,
    ...(request !== null && { requestId: request }),
    hash: Buffer.from(hash).toString('hex'),
    event: eventIn({ version, at, lane, type, schema, message, crc, body }, loadBlob),
  }
}
