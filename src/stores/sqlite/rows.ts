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
  'e.position, e.version, e.type, e.schema, e.at, e.actor, e.channel, e.request, e.message, e.crc, e.body, e.hash'

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

/** The event in a row, or word of its damage. */
export function eventIn(
  row: { type: string; schema: number; message: string | null; crc: number; body: string | null },
  loadBlob: LoadBlob,
): StoredEvent {
  const messageId = row.message ?? undefined
  if (row.body !== null && crc32(row.body) !== row.crc) {
    return { type: 'damaged', storedType: row.type, messageId, reason: 'its stored bytes do not match their checksum' }
  }
  return decode({ type: row.type, schema: row.schema, body: row.body, messageId }, loadBlob)
}

export function recordedEvent(
  row: EventRow,
  place: { project: string; conversationId: string; epoch: string },
  loadBlob: LoadBlob,
): RecordedEvent {
  const [position, version, type, schema, at, actor, channel, request, message, crc, body, hash] = row
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
    event: eventIn({ type, schema, message, crc, body }, loadBlob),
  }
}
