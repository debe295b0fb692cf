/**
 * Brings the events of an archive back as they were: same versions, salts and hashes; new positions at the end of the
 * log. Heads, lanes and sums are folded again. Nothing is visible before all of it is checked and there.
 */
import { IllegalState } from '../../../errors.ts'
import type { RecordedEvent } from '../../../log/events/recorded-event.ts'
import { addSums, type LaneSums, noSums } from '../../../log/records/lane.ts'
import { blobsIn, decode } from '../../../log/records/record.ts'
import { checksum } from '../../../log/records/stored-row.ts'
import { isoTime } from '../../../log/time.ts'
import type { ArchivedEvent, ArchiveHeading, ArchiveLine } from '../../../log/upkeep/archive.ts'
import { archiveLineIn, type PurgeRecord, refuseOlder } from '../../../log/upkeep/archive-check.ts'
import { type ConversationHead, evolveConversation } from '../../../log/views/conversation.ts'
import { evolveSession, type SessionHead, sessionOf } from '../../../log/views/session.ts'
import type { Run } from '../database.ts'
import { laneKeyOf, workHash } from '../heads.ts'
import { type BranchBase, baseAt } from '../write/branches.ts'
import { conversationRow, sessionRow } from '../write/draft.ts'
import {
  type BlobRow,
  type EventRow,
  insertBlobs,
  insertConversations,
  insertEvents,
  insertLanes,
  insertSessions,
  type LaneRow,
} from '../write/insert-rows.ts'

/** Rows of one statement; all of them are one transaction. */
const rowsPerStatement = 500

export async function linesIn(lines: AsyncIterable<string>): Promise<ArchiveLine[]> {
  const parsed: ArchiveLine[] = []
  for await (const line of lines) parsed.push(archiveLineIn(line))
  return parsed
}

export interface ImportInput {
  project: string
  /** The number of the project. */
  number: number
  /** Added to the server's transaction numbers. */
  base: number
  /** Proved. */
  heading: ArchiveHeading
  lines: readonly ArchiveLine[]
  now: number
}

type Unnumbered<Row> = Omit<Row, 'project' | 'conversation'>

/** The rows and heads that the lines of an archive come to. */
interface Folded {
  head: ConversationHead
  hash: Uint8Array
  sessions: Array<{ head: SessionHead; at: number }>
  lanes: Array<Unnumbered<LaneRow>>
  events: Array<Unnumbered<EventRow>>
  blobs: Array<Unnumbered<BlobRow>>
}

/** Runs in a transaction that holds the conversation's lock. */
export async function importConversation(run: Run, input: ImportInput): Promise<void> {
  const { number, base, heading, now } = input
  const place = [number, heading.conversationId]
  const [taken] = await run<[string]>('select id from conversations where project = $1 and id = $2', place)
  if (taken) throw new IllegalState(`Conversation ${heading.conversationId} is there already. Nothing was restored.`)
  const [purged] = await run<PurgeRecord>(
    `select hash, archive from purges where project = $1 and conversation_id = $2 and restored_at is null
    order by purge desc limit 1`,
    place,
  )
  refuseOlder(purged, input.lines.at(-1)!)
  const branch = await baseOf(run, number, heading)
  const folded = fold(input)
  await refuseRival(run, number, workHash(folded.head.info.workItem))
  await write(run, { project: number, base, branch, folded })
  await run('update purges set restored_at = $3 where project = $1 and conversation_id = $2 and restored_at is null', [
    ...place,
    now,
  ])
}

function fold({ project, heading, lines }: ImportInput): Folded {
  const { conversationId } = heading
  const blobs = new Map<string, string>()
  const sessions = new Map<string, { head: SessionHead; at: number }>()
  const lanes = new LaneSumsOf()
  const folded: Pick<Folded, 'events' | 'blobs'> = { events: [], blobs: [] }
  let head: ConversationHead | undefined
  for (const line of lines) {
    if ('blob' in line) blobs.set(line.blob, line.json)
    if (!('version' in line)) continue
    const recorded = recordedIn(line, { project, conversationId }, blobs)
    head = evolveConversation(head, recorded)
    if (!head) break
    folded.events.push(rowOf(line, folded.events.length, lanes.grow(line)))
    for (const digest of line.body === null ? [] : blobsIn(line.body)) {
      folded.blobs.push({ version: line.version, digest, json: blobs.get(digest)! })
    }
    const about = sessionOf(recorded)
    const next = about && evolveSession(sessions.get(about)?.head, recorded, head.info.workItem)
    if (next) sessions.set(next.id, { head: next, at: line.at })
  }
  if (!head) {
    throw new IllegalState(`Conversation ${conversationId} does not say how it began. Nothing was restored.`)
  }
  const hash = folded.events.at(-1)!.hash
  return { ...folded, head, hash, sessions: [...sessions.values()], lanes: lanes.rows }
}

/** The lanes of the archive, numbered as they come, with their running sums. */
class LaneSumsOf {
  readonly rows: Array<Unnumbered<LaneRow>> = []
  readonly #lanes = new Map<string, { lane: number; sums: LaneSums }>()

  /** Returns the lane of an event, with the sums after it. */
  grow({ lane, adds }: ArchivedEvent): { lane: number; sums: LaneSums } | undefined {
    if (!lane) return undefined
    const key = laneKeyOf(lane.kind, lane.audienceKey)
    const before = this.#lanes.get(key) ?? { lane: this.#lanes.size + 1, sums: noSums }
    if (!this.#lanes.has(key)) {
      const { kind, audienceKey, audience } = lane
      this.rows.push({ lane: before.lane, audience_key: audienceKey, kind, audience: JSON.stringify(audience) })
    }
    const grown = { lane: before.lane, sums: addSums(before.sums, adds ?? noSums) }
    this.#lanes.set(key, grown)
    return grown
  }
}

function rowOf(
  line: ArchivedEvent,
  n: number,
  place: { lane: number; sums: LaneSums } | undefined,
): Unnumbered<EventRow> {
  const { version, type, schema, at, actor, channel, body } = line
  const message = line.messageId ?? null
  return {
    version,
    n,
    type,
    schema,
    at,
    actor,
    channel,
    request: line.requestId ?? null,
    message,
    lane: place?.lane ?? null,
    messages: place?.sums.messages ?? null,
    tokens: place?.sums.tokens ?? null,
    input: place?.sums.input ?? null,
    output: place?.sums.output ?? null,
    crc: checksum({ version, at, lane: null, type, message, body }),
    salt: line.salt === null ? null : Buffer.from(line.salt, 'base64'),
    body,
    digest: Buffer.from(line.digest, 'base64'),
    hash: Buffer.from(line.hash, 'base64'),
  }
}

/** A branch is brought back only onto the version of its parent that it leaves at. */
async function baseOf(run: Run, project: number, { branchOf }: ArchiveHeading): Promise<BranchBase | undefined> {
  if (!branchOf) return undefined
  const { conversationId, version } = branchOf
  const base = await baseAt(run, project, branchOf)
  if (base && Buffer.from(branchOf.hash, 'base64').equals(base.hash)) return base
  throw new IllegalState(
    `It branches off conversation ${conversationId} at version ${version}, which is not there. Restore that first. Nothing was restored.`,
    { conversationId, version },
  )
}

async function refuseRival(run: Run, project: number, work: string): Promise<void> {
  const [rival] = await run<[string]>('select id from conversations where project = $1 and work_key = $2', [
    project,
    work,
  ])
  if (!rival) return
  throw new IllegalState(`Its work item has a new conversation, ${rival[0]}; purge that first. Nothing was restored.`)
}

async function write(
  run: Run,
  { project, base, branch, folded }: { project: number; base: number; branch: BranchBase | undefined; folded: Folded },
): Promise<void> {
  const { head, hash, lanes, events, blobs, sessions } = folded
  const [conversation] = await insertConversations(run, [conversationRow({ project, head, hash, branch })])
  const place = { project, conversation: conversation! }
  await insertLanes(
    run,
    lanes.map(row => ({ ...place, ...row })),
  )
  for (let from = 0; from < events.length; from += rowsPerStatement) {
    const page = events.slice(from, from + rowsPerStatement).map(row => ({ ...place, ...row }))
    const [first, last] = [page[0]!.version, page.at(-1)!.version]
    await insertEvents(run, base, page)
    await insertBlobs(
      run,
      blobs.filter(({ version }) => version >= first && version <= last).map(row => ({ ...place, ...row })),
    )
  }
  await insertSessions(
    run,
    sessions.map(session => sessionRow({ ...place, ...session })),
  )
}

function recordedIn(
  line: ArchivedEvent,
  place: { project: string; conversationId: string },
  blobs: ReadonlyMap<string, string>,
): RecordedEvent {
  const { version, type, schema, body, messageId, at, actor, channel } = line
  const event = decode({ type, schema, body, messageId }, digest => blobs.get(digest))
  return { ...place, version, position: '', at: isoTime(at), actor, channel, hash: '', event }
}
