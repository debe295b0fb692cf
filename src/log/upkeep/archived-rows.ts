/** The rows of a conversation as lines of an archive.  */
import type { Audience } from '../events/audience.ts'
import { type LaneKind, type LaneSums, laneOf as laneOfEvent, noSums, subtractSums } from '../records/lane.ts'
import { blobsIn, decode } from '../records/record.ts'
import type { ArchivedBlob, ArchivedEvent } from './archive.ts'

export const archiveColumns = `
  e.version, e.type, e.schema, e.at, e.actor, e.channel, e.request, e.message,
  e.lane, e.messages, e.tokens, e.input, e.output, e.salt, e.body, e.digest, e.hash`

export type ArchiveRow = [
  version: number,
  type: string,
  schema: number,
  at: number,
  actor: string,
  channel: string,
  request: string | null,
  message: string | null,
  lane: number | null,
  messages: number | null,
  tokens: number | null,
  input: number | null,
  output: number | null,
  salt: Uint8Array | null,
  body: string | null,
  digest: Uint8Array,
  hash: Uint8Array,
]

export interface LaneMeaning {
  audienceKey: string
  kind: LaneKind
  audience: Audience
}

/** Turns rows into lines; keeps the sums of each lane to tell what each message added. */
export function archivist({
  laneOf,
  sumsBefore,
  blobOf,
}: {
  /** What a lane is for; undefined when its own row is lost. */
  laneOf(lane: number): LaneMeaning | undefined
  /** Sums of a lane before a version, for when the rows do not start at the beginning. */
  sumsBefore(lane: number, version: number): LaneSums
  blobOf(digest: string): string | undefined
}) {
  const sums = new Map<number, LaneSums>()

  return function* lines(row: ArchiveRow): Generator<ArchivedEvent | ArchivedBlob> {
    const [version, type, schema, at, actor, channel, request, message, lane] = row
    const [messages, tokens, input, output, salt, body, digest, hash] = row.slice(9) as [
      number,
      number,
      number,
      number,
      Uint8Array | null,
      string | null,
      Uint8Array,
      Uint8Array,
    ]
    for (const blob of body === null ? [] : blobsIn(body)) {
      const json = blobOf(blob)
      if (json !== undefined) yield { blob, json }
    }
    let adds: LaneSums | undefined
    if (lane !== null) {
      const after = { messages, tokens, input, output }
      adds = subtractSums(after, sums.get(lane) ?? sumsBefore(lane, version) ?? noSums)
      sums.set(lane, after)
    }
    yield {
      version,
      type,
      schema,
      at,
      actor,
      channel,
      ...(request !== null && { requestId: request }),
      ...(message !== null && { messageId: message }),
      ...(lane !== null && { lane: laneOf(lane) ?? laneInBody(type, schema, body, message), adds: adds! }),
      salt: salt && Buffer.from(salt).toString('base64'),
      body,
      digest: Buffer.from(digest).toString('base64'),
      hash: Buffer.from(hash).toString('base64'),
    }
  }
}

/** What the message itself says of its audience, for when its lane is lost; nobody sees one that says nothing. */
export function laneInBody(type: string, schema: number, body: string | null, message: string | null): LaneMeaning {
  const event = decode({ type, schema, body, messageId: message ?? undefined }, () => 'null')
  const place = laneOfEvent(event)
  if (!place) return { audienceKey: 'internal', kind: 'internal', audience: { to: 'internal' } }
  return { audienceKey: place.lane.audience, kind: place.lane.kind, audience: place.audience }
}
