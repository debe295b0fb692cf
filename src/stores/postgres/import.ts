/**
 * Brings the events of an archive back as they were: same versions, salts and hashes; new positions at the end of the
 * log. Heads, lanes and sums are folded again. Nothing is visible before all of it is checked and there.
 */
import { IllegalState } from '../../errors.ts'
import type { RecordedEvent } from '../../log/events/recorded-event.ts'
import { addSums, noSums } from '../../log/records/lane.ts'
import { blobsIn, decode, genesis } from '../../log/records/record.ts'
import { checksum } from '../../log/records/stored-row.ts'
import { isoTime } from '../../log/time.ts'
import type { ArchivedEvent, ArchiveHeading, ArchiveLine } from '../../log/upkeep/archive.ts'
import { archiveLineIn, type PurgeRecord, refuseOlder } from '../../log/upkeep/archive-check.ts'
import { evolveConversation } from '../../log/views/conversation.ts'
import { evolveSession, type SessionHead, sessionOf } from '../../log/views/session.ts'
import { closeDraft, draftOn } from './append.ts'
import { type BranchBase, baseAt } from './branches.ts'
import type { Run } from './database.ts'
import { conversationKey, type LaneEntry, laneKeyOf, workHash } from './heads.ts'
import { type Batch, emptyBatch, insertEvents } from './insert-events.ts'

/** Rows of one statement; all of them are one transaction. */
const rowsPerCall = 500

export async function linesIn(lines: AsyncIterable<string>): Promise<ArchiveLine[]> {
  const parsed: ArchiveLine[] = []
  for await (const line of lines) parsed.push(archiveLineIn(line))
  return parsed
}

export interface ImportInput {
  project: string
  /** The numbers of the project, and of the conversation to be. */
  numbers: { project: number; conversation: number }
  base: number
  lockKey: string
  /** Proved. */
  heading: ArchiveHeading
  lines: readonly ArchiveLine[]
  now: number
}

/** Runs in a transaction that holds the conversation's lock. */
export async function importConversation(run: Run, input: ImportInput): Promise<void> {
  const { project, numbers, base, lockKey, heading, now } = input
  const { conversationId } = heading
  const { project: p, conversation: c } = numbers
  const [taken] = await run<[string]>('select id from conversations where project = $1 and id = $2', [
    p,
    conversationId,
  ])
  if (taken) throw new IllegalState(`Conversation ${conversationId} is there already. Nothing was restored.`)
  const [purged] = await run<PurgeRecord>(
    `select hash, archive from purges where project = $1 and conversation_id = $2 and restored_at is null
    order by purge desc limit 1`,
    [p, conversationId],
  )
  refuseOlder(purged, input.lines.at(-1)!)

  const draft = draftOn(
    0,
    { key: conversationKey(project, conversationId), project, id: conversationId },
    undefined,
    numbers,
  )
  draft.branch = await baseOf(run, p, heading)
  const batch = emptyBatch()
  const blobs = new Map<string, string>()
  const lanes = new Map<string, LaneEntry>()
  const sessions = new Map<string, SessionHead>()
  let head: ReturnType<typeof evolveConversation>
  let hash: Uint8Array = draft.branch?.hash ?? genesis(project, conversationId)
  for (const line of input.lines) {
    if ('blob' in line) blobs.set(line.blob, line.json)
    if (!('version' in line)) continue
    hash = Buffer.from(line.hash, 'base64')
    const recorded = recordedIn(line, { project, conversationId }, blobs)
    head = evolveConversation(head, recorded)
    if (!head)
      throw new IllegalState(`Conversation ${conversationId} does not say how it began. It was not brought back.`)
    addRow(line, recorded)
    const about = sessionOf(recorded)
    const next = about === undefined ? undefined : evolveSession(sessions.get(about), recorded, head.info.workItem)
    if (next) {
      sessions.set(next.id, next)
      draft.sessions.set(next.id, { head: next, new: true, at: line.at })
    }
  }
  if (!head)
    throw new IllegalState(`Conversation ${conversationId} does not say how it began. It was not brought back.`)
  await refuseRival(run, p, workHash(head.info.workItem))
  draft.entry = { key: draft.key, project: p, conversation: c, head, hash, lanes, sessions }
  closeDraft(batch, draft, lockKey)
  await write(run, base, batch)
  await run('update purges set restored_at = $3 where project = $1 and conversation_id = $2 and restored_at is null', [
    p,
    conversationId,
    now,
  ])

  function addRow(line: ArchivedEvent, event: RecordedEvent): void {
    const { type, schema, at, actor, channel, body, lane, adds } = line
    const place = lane && laneFor(lane, adds ?? noSums, at)
    const n = batch.rows.length
    batch.rows.push({
      g: 0,
      p,
      c,
      v: line.version,
      type,
      schema,
      at,
      actor,
      channel,
      request: line.requestId ?? null,
      message: line.messageId ?? null,
      lane: place?.lane ?? null,
      messages: place?.sums.messages ?? null,
      tokens: place?.sums.tokens ?? null,
      input: place?.sums.input ?? null,
      output: place?.sums.output ?? null,
      crc: checksum({ version: line.version, at, lane: null, type, message: line.messageId ?? null, body }),
      salt: line.salt === null ? null : Buffer.from(line.salt, 'base64'),
      body,
      digest: Buffer.from(line.digest, 'base64'),
      hash,
    })
    for (const digest of body === null ? [] : blobsIn(body)) {
      batch.blobs.push({ g: 0, p, c, v: line.version, digest, json: blobs.get(digest)! })
    }
    draft.recorded.push({ event, n, hash })
  }

  function laneFor(lane: NonNullable<ArchivedEvent['lane']>, adds: LaneEntry['sums'], at: number): LaneEntry {
    const key = laneKeyOf(lane.kind, lane.audienceKey)
    const known = lanes.get(key)
    const made: LaneEntry = {
      key,
      audience: lane.audienceKey,
      kind: lane.kind,
      lane: known?.lane ?? lanes.size + 1,
      audienceOf: lane.audience,
      sums: addSums(known?.sums ?? noSums, adds),
      lastAt: at,
    }
    if (!known) {
      const audience = JSON.stringify(lane.audience)
      batch.lanes.push({ g: 0, p, c, lane: made.lane, key: lane.audienceKey, kind: lane.kind, audience })
    }
    lanes.set(key, made)
    return made
  }
}

/** A branch is brought back only onto what it hangs on. */
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

/** The first call makes the conversation and its lanes; the rest of the rows follow in calls that expect nothing. */
async function write(run: Run, base: number, batch: Batch): Promise<void> {
  const { rows, blobs, sessions, ...rest } = batch
  for (let from = 0; from === 0 || from < rows.length; from += rowsPerCall) {
    const part = rows.slice(from, from + rowsPerCall)
    const [first, last] = [part[0]?.v ?? 0, part.at(-1)?.v ?? 0]
    const isLast = from + rowsPerCall >= rows.length
    const calls =
      from === 0 ? rest : { ...emptyBatch(), groups: batch.groups.map(({ g, k, p, c }) => ({ g, k, p, c })) }
    const { refused } = await insertEvents(
      run,
      base,
      {
        ...calls,
        rows: part,
        blobs: blobs.filter(blob => blob.v >= first && blob.v <= last),
        sessions: isLast ? sessions : [],
      },
      from,
    )
    if (refused.length > 0) throw new Error(`a restored conversation was refused: ${JSON.stringify(refused)}`)
  }
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
