/** Rows of the events table, and the events they hold. */
import type { RecordedEvent } from '../../log/events/recorded-event.ts'
import type { LoadBlob } from '../../log/records/record.ts'
import { blobsIn } from '../../log/records/record.ts'
import { eventIn } from '../../log/records/stored-row.ts'
import { isoTime } from '../../log/time.ts'
import type { Run } from './database.ts'
import { positionText } from './position.ts'

/** Versions are 32 bits wide. */
export const highestVersion = 0x7fff_ffff

/** What reading an event back takes, in this order. */
export const eventColumns =
  'e.tx, e.n, e.version, e.type, e.schema, e.at, e.actor, e.channel, e.request, e.message, e.crc, e.body, e.hash'

export type EventRow = [
  tx: number,
  n: number,
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

/** The blobs that bodies refer to, all of them in one question. */
export async function blobsOf(run: Run, project: number, bodies: Iterable<string | null>): Promise<LoadBlob> {
  const digests = new Set<string>()
  for (const body of bodies) if (body !== null) for (const digest of digestsIn(body)) digests.add(digest)
  if (digests.size === 0) return () => undefined
  const rows = await run<[string, string]>(
    'select digest, json from blobs where project = $1 and digest = any($2::text[])',
    [project, [...digests]],
  )
  const found = new Map(rows)
  return digest => found.get(digest)
}

/** A damaged body names no blobs. */
function digestsIn(body: string): string[] {
  try {
    return blobsIn(body)
  } catch {
    return []
  }
}

export function recordedEvent(
  row: EventRow,
  place: { project: string; conversationId: string; epoch: string },
  load: LoadBlob,
): RecordedEvent {
  const [tx, n, version, type, schema, at, actor, channel, request, message, crc, body, hash] = row
  return {
    project: place.project,
    conversationId: place.conversationId,
    version,
    position: positionText(place.epoch, { tx, n }, hash),
    at: isoTime(at),
    actor,
    channel,
    ...(request !== null && { requestId: request }),
    hash: Buffer.from(hash).toString('hex'),
    // A lane's number means something within its conversation only; the hash covers whom the lane is for.
    event: eventIn({ version, at, lane: null, type, schema, message, crc, body }, load),
  }
}
