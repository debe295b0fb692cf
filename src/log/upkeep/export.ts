/** A conversation as the lines of an archive, a page at a time. */
import { StoreFailed } from '../../errors.ts'
import { type Audience, audienceOfKey } from '../events/audience.ts'
import { type LaneKind, type LaneSums, laneOf, noSums, subtractSums } from '../records/lane.ts'
import { decode } from '../records/record.ts'
import type { ConversationPlace, ConversationRow, EventRow, LaneRow, RowStore } from '../rows.ts'
import type { ExportCursor, ExportedPage } from '../upkeep-work.ts'
import type { ArchivedBlob, ArchivedEvent, ArchiveEnd, ArchiveHeading } from './archive.ts'
import { pageRows } from './event-rows.ts'

/** Max characters of bodies on a page, passed by one event at most. */
const pageCharacters = 1024 * 1024

/** Returns the next lines; undefined when there is no such conversation. */
export function exportPage(
  store: RowStore,
  { project, conversationId, cursor }: ConversationPlace & { cursor?: ExportCursor | undefined },
): Promise<ExportedPage | undefined> {
  const place = { project, conversationId }
  return store.rows(async rows => {
    const head = await rows.conversation(place)
    if (!head) return undefined
    const after = cursor?.last ?? head.branchOf?.version ?? 0
    const upTo = cursor?.upTo ?? head.version
    const page = await rows.events(place, { after, upTo, limit: pageRows })
    if (page.length === 0) {
      throw new StoreFailed('The conversation could not be read to its end. Nothing was purged.', place)
    }
    const lines: string[] = cursor ? [] : [JSON.stringify(headingFor(place, head))]
    const writer = new LineWriter(await rows.lanes(place), cursor?.sums ?? [])
    let characters = 0
    let newest = page[0]!
    for (const row of page) {
      for (const line of writer.linesOf(row)) lines.push(JSON.stringify(line))
      newest = row
      characters += row.body?.length ?? 0
      if (characters > pageCharacters) break
    }
    if (newest.version < upTo) return { lines, next: { last: newest.version, upTo, sums: writer.sums } }
    const end: ArchiveEnd = { end: true, events: newest.version, hash: base64(newest.hash) }
    return { lines: [...lines, JSON.stringify(end)] }
  })
}

function headingFor(place: ConversationPlace, { version, branchOf }: ConversationRow): ArchiveHeading {
  return {
    colloquy: 'archive',
    format: 1,
    ...place,
    events: version,
    ...(branchOf && {
      branchOf: {
        conversationId: branchOf.conversationId,
        version: branchOf.version,
        hash: base64(branchOf.hash ?? new Uint8Array()),
      },
    }),
  }
}

interface LaneMeaning {
  audienceKey: string
  kind: LaneKind
  audience: Audience
}

/** Turns rows into lines. Keeps the sums of each lane, to tell what each message added. */
class LineWriter {
  readonly #lanes: ReadonlyMap<number, LaneRow>
  readonly #sums: Map<number, LaneSums>

  constructor(lanes: readonly LaneRow[], sums: ExportCursor['sums']) {
    this.#lanes = new Map(lanes.map(row => [row.lane, row]))
    this.#sums = new Map(sums)
  }

  get sums(): ExportCursor['sums'] {
    return [...this.#sums]
  }

  *linesOf(row: EventRow): Generator<ArchivedEvent | ArchivedBlob> {
    const { version, type, schema, at, actor, channel, request, message, salt, body, digest, hash } = row
    for (const [blob, json] of row.blobs) yield { blob, json }
    yield {
      version,
      type,
      schema,
      at,
      actor,
      channel,
      ...(request !== null && { requestId: request }),
      ...(message !== null && { messageId: message }),
      ...(row.lane !== null && { lane: this.#laneOf(row), adds: this.#added(row.lane, row.sums ?? noSums) }),
      salt: salt && base64(salt),
      body,
      digest: base64(digest),
      hash: base64(hash),
    }
  }

  #added(lane: number, after: LaneSums): LaneSums {
    const added = subtractSums(after, this.#sums.get(lane) ?? noSums)
    this.#sums.set(lane, after)
    return added
  }

  #laneOf(row: EventRow): LaneMeaning {
    const lane = this.#lanes.get(row.lane!)
    const audience = lane && audienceOfKey(lane.audienceKey)
    return lane && audience ? { audienceKey: lane.audienceKey, kind: lane.kind, audience } : laneInBody(row)
  }
}

/**
 * Returns the audience and kind that the message itself names, for when its lane is lost. An unreadable one is
 * internal.
 */
export function laneInBody({
  type,
  schema,
  body,
  message,
}: Pick<EventRow, 'type' | 'schema' | 'body' | 'message'>): LaneMeaning {
  const event = decode({ type, schema, body, messageId: message ?? undefined }, () => 'null')
  const place = laneOf(event)
  if (!place) return { audienceKey: 'internal', kind: 'internal', audience: { to: 'internal' } }
  return { audienceKey: place.lane.audience, kind: place.lane.kind, audience: place.audience }
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64')
}
