/**
 * The lines of an archive, proved: on their way out before anything is removed, on their way back before anything is
 * written.
 */
import { createHash } from 'node:crypto'
import { ConversationDamaged, IllegalState } from '../errors.ts'
import { ArchivedEvent, type ArchiveHeading, ArchiveLine } from './archive.ts'
import { blobsIn, decode, digestOf, genesis, type Header, hashOf } from './record.ts'
import { RewrittenProof } from './rewritten.ts'

export function archiveLineIn(line: string): ArchiveLine {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    throw new IllegalState('The archive is damaged: a line of it is not JSON. Nothing was restored.')
  }
  const result = ArchiveLine.safeParse(value)
  if (!result.success)
    throw new IllegalState('The archive is damaged: a line of it is not of its format. Nothing was restored.')
  return result.data
}

/** The heading of an archive of this project; when `strict`, only of one that is whole. */
export function headingOf(
  lines: readonly ArchiveLine[],
  { project, strict }: { project: string; strict: boolean },
): ArchiveHeading {
  const heading = lines[0]
  if (!heading || !('colloquy' in heading)) throw new IllegalState('The archive has no heading. Nothing was restored.')
  if (heading.project !== project) {
    throw new IllegalState(`The archive is of project "${heading.project}", not "${project}". Nothing was restored.`)
  }
  const end = lines.at(-1)
  if (strict && (!end || !('end' in end) || end.events !== heading.events)) {
    throw new IllegalState('The archive was cut off: its closing line is missing. Nothing was restored.')
  }
  return heading
}

/**
 * Refuses an event that does not follow `previous` at `version`, or is not what its digest and its blobs say. What was
 * written anew, `proof` waits for; `refuseUnproved` says in the end what it waited for in vain.
 */
export function checkArchived(
  line: ArchivedEvent,
  version: number,
  previous: Uint8Array,
  { blobs, proof }: { blobs: ReadonlyMap<string, string>; proof: RewrittenProof },
): void {
  const what = damageOf(line, version, previous, blobs, proof)
  if (what) throw damagedAt(line.version, what)
}

export function refuseUnproved({ unproved }: RewrittenProof): void {
  if (unproved.length > 0) throw damagedAt(unproved[0]!, changedContent)
}

function damagedAt(version: number, what: string): IllegalState {
  return new IllegalState(`The archive is damaged at version ${version}: ${what}. Nothing was restored.`)
}

const changedContent = 'its content does not match its digest'

/**
 * Passes on the lines of an archive that is being written, each looked at as `restore` will. What is wrong is told when
 * all have passed, so that every damaged version is named, and before the file is whole, so that none gets its name.
 *
 * @throws {ConversationDamaged} when the archive could not be restored
 */
export async function* provedLines(lines: AsyncIterable<string>): AsyncGenerator<string> {
  const damages: Array<{ version: number; what: string }> = []
  const blobs = new Map<string, string>()
  const proof = new RewrittenProof()
  let conversationId = ''
  let version = 0
  let hash: Uint8Array = Buffer.alloc(0)
  for await (const text of lines) {
    yield text
    const line = JSON.parse(text) as ArchiveLine
    if ('colloquy' in line) {
      conversationId = line.conversationId
      version = line.branchOf?.version ?? 0
      hash = line.branchOf ? Buffer.from(line.branchOf.hash, 'base64') : genesis(line.project, conversationId)
    } else if ('blob' in line) {
      blobs.set(line.blob, line.json)
    } else if ('version' in line) {
      const what = ArchivedEvent.safeParse(line).success
        ? damageOf(line, version, hash, blobs, proof)
        : 'it is not of its format'
      if (what) damages.push({ version: version + 1, what })
      version = line.version
      hash = Buffer.from(line.hash, 'base64')
      // Each event comes with its own; those of a long conversation are not kept in memory.
      blobs.clear()
    }
  }
  for (const unproved of proof.unproved) damages.push({ version: unproved, what: changedContent })
  if (damages.length > 0) throw new ConversationDamaged({ conversationId, damages })
}

function damageOf(
  line: ArchivedEvent,
  version: number,
  previous: Uint8Array,
  blobs: ReadonlyMap<string, string>,
  proof: RewrittenProof,
): string | undefined {
  if (line.version !== version + 1) return `version ${version + 1} is missing`
  const digest = Buffer.from(line.digest, 'base64')
  const { type, body } = line
  const salt = Buffer.from(line.salt ?? '', 'base64')
  if (body !== null && !digestOf(salt, body).equals(digest)) {
    if (!proof.defers({ type, version: line.version, salt, body })) return changedContent
  }
  if (type === 'message.erased') proof.take(decode({ ...line, messageId: undefined }, () => undefined))
  for (const blob of line.body === null ? [] : blobsIn(line.body)) {
    const json = blobs.get(blob)
    if (json === undefined || !isBlob(json, blob)) return 'a large part of it is missing or changed'
  }
  const follows = hashOf(previous, headerOf(line), digest).equals(Buffer.from(line.hash, 'base64'))
  return follows ? undefined : 'its hash does not follow from the one before'
}

export function isBlob(json: string, digest: string): boolean {
  return createHash('sha256').update(json).digest('hex') === digest
}

export function headerOf(line: ArchivedEvent): Header {
  const { version, type, schema, at, actor, channel, requestId, messageId, adds } = line
  const lane = line.lane && { audience: line.lane.audienceKey, kind: line.lane.kind }
  return { version, type, schema, at, actor, channel, requestId, messageId, lane, adds }
}
