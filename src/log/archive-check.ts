/** The lines of an archive on their way back into a store: read, and proved unchanged before anything is written. */
import { createHash } from 'node:crypto'
import { IllegalState } from '../errors.ts'
import { type ArchivedEvent, type ArchiveHeading, ArchiveLine } from './archive.ts'
import { blobsIn, digestOf, type Header, hashOf } from './record.ts'

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

/** Refuses an event that does not follow `previous` at `version`, or is not what its digest and its blobs say. */
export function checkArchived(
  line: ArchivedEvent,
  version: number,
  previous: Uint8Array,
  blobs: ReadonlyMap<string, string>,
): void {
  const damaged = (what: string) =>
    new IllegalState(`The archive is damaged at version ${line.version}: ${what}. Nothing was restored.`)
  if (line.version !== version + 1) throw damaged(`version ${version + 1} is missing`)
  const digest = Buffer.from(line.digest, 'base64')
  if (line.body !== null && !digestOf(Buffer.from(line.salt ?? '', 'base64'), line.body).equals(digest)) {
    throw damaged('its content does not match its digest')
  }
  for (const blob of line.body === null ? [] : blobsIn(line.body)) {
    const json = blobs.get(blob)
    if (json === undefined || !isBlob(json, blob)) throw damaged('a large part of it is missing or changed')
  }
  if (!hashOf(previous, headerOf(line), digest).equals(Buffer.from(line.hash, 'base64'))) {
    throw damaged('its hash does not follow from the one before')
  }
}

export function isBlob(json: string, digest: string): boolean {
  return createHash('sha256').update(json).digest('hex') === digest
}

export function headerOf(line: ArchivedEvent): Header {
  const { version, type, schema, at, actor, channel, requestId, messageId, adds } = line
  const lane = line.lane && { audience: line.lane.audienceKey, kind: line.lane.kind }
  return { version, type, schema, at, actor, channel, requestId, messageId, lane, adds }
}
