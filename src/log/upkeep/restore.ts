/**
 * Restores the events of an archive with their versions, salts and hashes, at new positions at the end of the log.
 * Heads, lanes and sums are folded from them. Nothing is visible before all of it is checked and written.
 */
import { IllegalState } from '../../errors.ts'
import { addSums, noSums } from '../records/lane.ts'
import { blobsIn } from '../records/record.ts'
import type { ConversationPlace, EventRow, LaneRow, RowChanges, RowStore, Rows } from '../rows.ts'
import type { RestorePage } from '../upkeep-work.ts'
import { type ConversationHead, evolveConversation } from '../views/conversation.ts'
import { evolveSession, type SessionHead, sessionOf } from '../views/session.ts'
import type { ArchivedEvent, ArchiveHeading, ArchiveLine } from './archive.ts'
import { archiveLineIn, provedHeading, refuseOlder } from './archive-check.ts'
import { pageRows, recordedOf } from './event-rows.ts'

/** Takes archives page by page. A conversation is restored with the last page of its archive. */
export function restorer(store: RowStore) {
  const drafts = new Map<string, ArchiveLine[]>()
  return {
    async page({ ticket, project, lines, isLast, now }: RestorePage): Promise<string | undefined> {
      const draft = drafts.get(ticket) ?? []
      // Set again below when more pages are to come. A line that cannot be read leaves nothing in memory.
      drafts.delete(ticket)
      for (const line of lines) draft.push(archiveLineIn(line))
      if (isLast) return restoreConversation(store, { project, lines: draft, now })
      drafts.set(ticket, draft)
      return undefined
    },
    abandon: (ticket: string) => void drafts.delete(ticket),
    /** Returns the number of archives that wait for their next page. */
    waiting: () => drafts.size,
  }
}

interface RestoreInput {
  project: string
  lines: readonly ArchiveLine[]
  /** Milliseconds. */
  now: number
}

/** The rows and heads made from the lines of an archive. */
interface FoldedArchive {
  head: ConversationHead
  hash: Uint8Array
  sessions: ReadonlyMap<string, { head: SessionHead; usedAt: number }>
  lanes: readonly LaneRow[]
  events: readonly EventRow[]
}

async function restoreConversation(store: RowStore, { project, lines, now }: RestoreInput): Promise<string> {
  const heading = provedHeading(lines, project)
  const { conversationId } = heading
  const place = { project, conversationId }
  const archive = folded(place, lines)
  await store.change(place, async rows => {
    await refuseTaken(rows, place, archive.head)
    const purges = await rows.purges(project, conversationId)
    refuseOlder(
      purges.findLast(purge => purge.restoredAt === undefined),
      lines.at(-1)!,
    )
    await refuseWithoutParent(rows, heading)
    await write(rows, place, archive)
    await rows.markRestored(place, now)
  })
  return conversationId
}

function folded(place: ConversationPlace, lines: readonly ArchiveLine[]): FoldedArchive {
  const blobs = new Map<string, string>()
  const sessions = new Map<string, { head: SessionHead; usedAt: number }>()
  const lanes = new LaneNumbers()
  const events: EventRow[] = []
  let head: ConversationHead | undefined
  for (const line of lines) {
    if ('blob' in line) blobs.set(line.blob, line.json)
    if (!('version' in line)) continue
    const row = rowOf(line, lanes.grow(line), blobs)
    const recorded = recordedOf(place, row)
    head = evolveConversation(head, recorded)
    if (!head) break
    events.push(row)
    const about = sessionOf(recorded)
    const next =
      about === undefined ? undefined : evolveSession(sessions.get(about)?.head, recorded, head.info.workItem)
    if (next) sessions.set(next.id, { head: next, usedAt: line.at })
  }
  if (!head) {
    throw new IllegalState(
      `The archive of conversation ${place.conversationId} has no creation event. Nothing was restored.`,
    )
  }
  return { head, hash: events.at(-1)!.hash, sessions, lanes: lanes.rows, events }
}

/** The lanes of the archive, numbered as they come, with their running sums. */
class LaneNumbers {
  readonly rows: LaneRow[] = []
  readonly #lanes = new Map<string, Pick<EventRow, 'sums'> & { lane: number }>()

  /** Returns the lane of an event, with the sums after it. */
  grow({ lane, adds }: ArchivedEvent): Pick<EventRow, 'lane' | 'sums'> {
    if (!lane) return { lane: null, sums: null }
    const { kind, audienceKey, audience } = lane
    const key = `${kind} ${audienceKey}`
    const before = this.#lanes.get(key) ?? { lane: this.#lanes.size + 1, sums: noSums }
    if (!this.#lanes.has(key)) {
      this.rows.push({ lane: before.lane, audienceKey, kind, audience: JSON.stringify(audience) })
    }
    const grown = { lane: before.lane, sums: addSums(before.sums ?? noSums, adds ?? noSums) }
    this.#lanes.set(key, grown)
    return grown
  }
}

function rowOf(
  line: ArchivedEvent,
  place: Pick<EventRow, 'lane' | 'sums'>,
  blobs: ReadonlyMap<string, string>,
): EventRow {
  const { version, type, schema, at, actor, channel, requestId = null, messageId = null, salt, body } = line
  const digests = body === null ? [] : blobsIn(body)
  return {
    version,
    type,
    schema,
    at,
    actor,
    channel,
    request: requestId,
    message: messageId,
    ...place,
    salt: salt === null ? null : Buffer.from(salt, 'base64'),
    body,
    digest: Buffer.from(line.digest, 'base64'),
    hash: Buffer.from(line.hash, 'base64'),
    isIntact: true,
    blobs: new Map(digests.map(digest => [digest, blobs.get(digest)!])),
  }
}

async function refuseTaken(rows: Rows, place: ConversationPlace, { info }: ConversationHead): Promise<void> {
  if (await rows.conversation(place)) {
    throw new IllegalState(`Conversation ${place.conversationId} is there already. Nothing was restored.`)
  }
  const rival = await rows.conversationOf(place.project, info.workItem)
  if (rival === undefined) return
  throw new IllegalState(`Its work item has a new conversation, ${rival}; purge that first. Nothing was restored.`)
}

/** Refuses a branch when the parent's event that it continues is not there. */
async function refuseWithoutParent(rows: Rows, { project, branchOf }: ArchiveHeading): Promise<void> {
  if (!branchOf) return
  const { conversationId, version, hash } = branchOf
  const [base] = await rows.events({ project, conversationId }, { after: version - 1, upTo: version, limit: 1 })
  if (base && Buffer.from(hash, 'base64').equals(base.hash)) return
  throw new IllegalState(
    `It branches off conversation ${conversationId} at version ${version}, which is not there. Restore that first. Nothing was restored.`,
    { conversationId, version },
  )
}

async function write(
  rows: RowChanges,
  place: ConversationPlace,
  { head, hash, lanes, events, sessions }: FoldedArchive,
): Promise<void> {
  await rows.addConversation(head, hash)
  await rows.addLanes(place, lanes)
  for (let from = 0; from < events.length; from += pageRows) {
    await rows.addEvents(place, events.slice(from, from + pageRows))
  }
  await rows.putSessions(place, [...sessions.values()])
}
