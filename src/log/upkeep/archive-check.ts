/**
 * Checks the lines of an archive file: while it is written, before a purge removes anything, and while it is restored,
 * before anything is stored.
 */
import { ConversationDamaged, IllegalState } from '../../errors.ts'
import { audienceKey } from '../events/audience.ts'
import { RewrittenProof } from '../records/erased-copies.ts'
import { blobsIn, decode, digestOf, genesis, type Header, hashOf, isBlob } from '../records/record.ts'
import { ArchivedEvent, type ArchiveHeading, ArchiveLine } from './archive.ts'

/** Parses a line of an archive that is restored. */
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

/** Returns the heading. Refuses the archive of another project. */
function headingOf(lines: readonly ArchiveLine[], project: string): ArchiveHeading {
  const heading = lines[0]
  if (!heading || !('colloquy' in heading)) throw new IllegalState('The archive has no heading. Nothing was restored.')
  if (heading.project !== project) {
    throw new IllegalState(`The archive is of project "${heading.project}", not "${project}". Nothing was restored.`)
  }
  return heading
}

/**
 * Checks all lines of an archive, and returns its heading. Every event must follow from the one before. The last one
 * must be the one that the heading and the closing line name, because a chain alone does not say where it ended.
 *
 * @throws {IllegalState} when the archive is damaged or cut off
 */
export function provedHeading(lines: readonly ArchiveLine[], project: string): ArchiveHeading {
  const heading = headingOf(lines, project)
  const end = lines.at(-1)
  if (!end || !('end' in end)) {
    throw new IllegalState('The archive was cut off: its closing line is missing. Nothing was restored.')
  }
  const blobs = new Map<string, string>()
  const proof = new RewrittenProof()
  let { version, hash } = beginningOf(heading)
  for (const line of lines.slice(1, -1)) {
    if ('blob' in line) blobs.set(line.blob, line.json)
    else if ('version' in line) {
      const what = damageOf(line, version, hash, blobs, proof)
      if (what) throw damagedAt(line.version, what)
      version = line.version
      hash = Buffer.from(line.hash, 'base64')
    } else throw new IllegalState('The archive is damaged: one begins or ends inside it. Nothing was restored.')
  }
  for (const unproved of proof.unproved) throw damagedAt(unproved, changedContent)
  const isWhole = version === heading.events && version === end.events && hash.equals(Buffer.from(end.hash, 'base64'))
  if (isWhole) return heading
  throw new IllegalState(
    `The archive is not whole: its events end at version ${version}, its heading tells of ${heading.events} and its closing line of ${end.events}${version === end.events ? ' with another hash' : ''}. Nothing was restored.`,
    { version, heading: heading.events, end: end.events },
  )
}

/** Version and hash that the first event follows: those of the parent's event, for a branch. */
function beginningOf({ project, conversationId, branchOf }: ArchiveHeading): { version: number; hash: Buffer } {
  if (!branchOf) return { version: 0, hash: genesis(project, conversationId) }
  return { version: branchOf.version, hash: Buffer.from(branchOf.hash, 'base64') }
}

function damagedAt(version: number, what: string): IllegalState {
  return new IllegalState(`The archive is damaged at version ${version}: ${what}. Nothing was restored.`)
}

const changedContent = 'its content does not match its digest'

/**
 * Passes on the lines of an archive that is being written, and checks each as `restore` will. Throws only after the
 * last line, so that the error names every damaged version. The file is not whole by then, so it never appears under
 * its name.
 *
 * @throws {ConversationDamaged} when the archive could not be restored
 */
export async function* provedLines(lines: AsyncIterable<string>): AsyncGenerator<string> {
  const damages: Array<{ version: number; what: string }> = []
  const blobs = new Map<string, string>()
  const proof = new RewrittenProof()
  let conversationId = ''
  let version = 0
  let hash: Buffer = Buffer.alloc(0)
  for await (const text of lines) {
    yield text
    const line = JSON.parse(text) as ArchiveLine
    if ('colloquy' in line) {
      conversationId = line.conversationId
      ;({ version, hash } = beginningOf(line))
    } else if ('blob' in line) {
      blobs.set(line.blob, line.json)
    } else if ('version' in line) {
      const what = ArchivedEvent.safeParse(line).success
        ? damageOf(line, version, hash, blobs, proof)
        : 'it is not of its format'
      if (what) damages.push({ version: version + 1, what })
      version = line.version
      hash = Buffer.from(line.hash, 'base64')
      // Each event comes with its own blobs, so that memory need not hold those of a long conversation.
      blobs.clear()
    }
  }
  for (const unproved of proof.unproved) damages.push({ version: unproved, what: changedContent })
  if (damages.length > 0) throw new ConversationDamaged({ conversationId, damages })
}

/** Says what is wrong with an event; undefined when nothing is. `version` and `previous` are of the event before. */
function damageOf(
  line: ArchivedEvent,
  version: number,
  previous: Uint8Array,
  blobs: ReadonlyMap<string, string>,
  proof: RewrittenProof,
): string | undefined {
  if (line.version !== version + 1) return `version ${version + 1} is missing`
  const digest = Buffer.from(line.digest, 'base64')
  // The hash covers the audience only by its key.
  if (line.lane && audienceKey(line.lane.audience) !== line.lane.audienceKey)
    return 'its audience is not that of its lane'
  if (line.body === null && line.salt !== null) return 'its content is missing'
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

export function headerOf(line: ArchivedEvent): Header {
  const { version, type, schema, at, actor, channel, requestId, messageId, adds } = line
  const lane = line.lane && { audience: line.lane.audienceKey, kind: line.lane.kind }
  return { version, type, schema, at, actor, channel, requestId, messageId, lane, adds }
}

/**
 * Refuses an archive that is older than the last purge. Messages added in between would be missing without a trace,
 * erased ones would be back, and idempotency keys would lead to other messages.
 */
export function refuseOlder(purge: { hash: Uint8Array; archive: string } | undefined, end: ArchiveLine): void {
  if (!purge || !('end' in end) || Buffer.from(end.hash, 'base64').equals(purge.hash)) return
  const { archive } = purge
  throw new IllegalState(
    `The conversation was purged later than this archive was written, into ${archive}: restore that one. Nothing was restored.`,
    { archive },
  )
}
