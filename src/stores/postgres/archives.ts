/** A conversation as the lines of an archive, a page at a time; and what was purged. */

import { StoreFailed } from '../../errors.ts'
import type { Audience } from '../../log/events/audience.ts'
import { type LaneKind, noSums } from '../../log/records/lane.ts'
import { isoTime } from '../../log/time.ts'
import type { ArchiveEnd, ArchiveHeading } from '../../log/upkeep/archive.ts'
import { type ArchiveRow, archiveColumns, archivist, type LaneMeaning } from '../../log/upkeep/archived-rows.ts'
import { baseOf } from './branches.ts'
import type { Database } from './database.ts'
import { blobsOf } from './rows.ts'

/** Bodies can be large; a page ends when it holds about this many rows. */
const pageRows = 500

export async function* archiveLines(
  database: Database,
  place: { project: string; number: number; conversationId: string; conversation: number; upTo: number },
): AsyncGenerator<string> {
  const { project, number, conversationId, conversation, upTo } = place
  const base = await baseOf(database.read, number, conversation)
  const heading: ArchiveHeading = {
    colloquy: 'archive',
    format: 1,
    project,
    conversationId,
    events: upTo,
    ...(base && { branchOf: { ...base, hash: Buffer.from(base.hash ?? []).toString('base64') } }),
  }
  yield JSON.stringify(heading)
  const lanes = new Map<number, LaneMeaning>()
  let loaded: (digest: string) => string | undefined = () => undefined
  const linesOf = archivist({
    laneOf: lane => lanes.get(lane),
    // Pages come in order from the first version on, so every sum before has been seen.
    sumsBefore: () => noSums,
    blobOf: digest => loaded(digest),
  })
  let last = 0
  let hash: Uint8Array | undefined
  while (last < upTo) {
    const rows = await database.read<ArchiveRow>(
      `select ${archiveColumns} from events e
      where e.project = $1 and e.conversation = $2 and e.version > $3 and e.version <= $4
      order by e.version limit ${pageRows}`,
      [number, conversation, last, upTo],
    )
    if (rows.length === 0) {
      throw new StoreFailed('The conversation could not be read to its end. Nothing was purged.', { conversationId })
    }
    for (const [lane, meaning] of await lanesOf(database, number, conversation)) lanes.set(lane, meaning)
    loaded = await blobsOf(
      database.read,
      number,
      rows.map(row => row[14]),
    )
    for (const row of rows) {
      for (const line of linesOf(row)) yield JSON.stringify(line)
      last = row[0]
      hash = row[16]
    }
  }
  const end: ArchiveEnd = { end: true, events: last, hash: Buffer.from(hash ?? []).toString('base64') }
  yield JSON.stringify(end)
}

export async function lanesOf(
  { read }: Pick<Database, 'read'>,
  project: number,
  conversation: number,
): Promise<Array<[number, LaneMeaning]>> {
  const rows = await read<[number, string, LaneKind, string]>(
    'select lane, audience_key, kind, audience from lanes where project = $1 and conversation = $2',
    [project, conversation],
  )
  return rows.map(([lane, audienceKey, kind, audience]) => [
    lane,
    { audienceKey, kind, audience: JSON.parse(audience) as Audience },
  ])
}

export async function purges(database: Database, project: number) {
  const rows = await database.read<[string, string, number, number]>(
    `select conversation_id, archive, at, events from purges
    where project = $1 and restored_at is null order by purge desc`,
    [project],
  )
  return rows.map(([conversationId, archive, at, events]) => ({ conversationId, archive, at: isoTime(at), events }))
}
