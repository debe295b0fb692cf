/** Rows of the events table, and the events they hold. */
import type { RecordedEvent } from '../../log/events/recorded-event.ts'
import type { LoadBlob } from '../../log/records/record.ts'
import { eventIn } from '../../log/records/stored-row.ts'
import { isoTime } from '../../log/time.ts'
import type { Database } from './database.ts'
import { positionText } from './position.ts'

/** The columns of an `EventRow`, in its order. */
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

/** Loads blobs of a project. `verify` checks that they match their digests. */
export function blobLoader(database: Database): (project: number) => LoadBlob {
  const find = database.prepare('select json from blobs where project = ? and digest = ?')
  return project => digest => {
    const row = find.get(project, digest) as [Uint8Array] | undefined
    return row && Buffer.from(row[0]).toString('utf8')
  }
}

export function recordedEvent(
  row: EventRow,
  place: { project: string; conversationId: string; epoch: string },
  loadBlob: LoadBlob,
): RecordedEvent {
  const [position, version, type, schema, at, actor, channel, request, message, lane, crc, body, stored] = row
  // A damaged row may hold any type.
  const hash = stored instanceof Uint8Array ? stored : undefined
  return {
    project: place.project,
    conversationId: place.conversationId,
    version,
    position: positionText(place.epoch, position, hash),
    at: isoTime(at),
    actor,
    channel,
    ...(request !== null && { requestId: request }),
    hash: hash ? Buffer.from(hash).toString('hex') : '',
    event: eventIn({ version, at, lane, type, schema, message, crc, body }, loadBlob),
  }
}
