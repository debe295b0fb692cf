/** A conversation as the lines of an archive, a page at a time. */
import { audienceOfKey } from '../../../log/events/audience.ts'
import type { LaneKind } from '../../../log/records/lane.ts'
import type { ArchiveEnd, ArchiveHeading } from '../../../log/upkeep/archive.ts'
import { type ArchiveRow, archiveColumns, archivist } from '../../../log/upkeep/archived-rows.ts'
import type { Database } from '../database.ts'
import { headStore } from '../heads.ts'
import { inVersionOrder } from '../read/event-queries.ts'
import { blobLoader } from '../rows.ts'
import { snapshots } from '../transaction.ts'
import type { Operations } from '../worker/protocol.ts'

/** Bodies can be large; a page ends when it holds this much. */
const pageBytes = 1024 * 1024
const pageRows = 500

export function exporter(
  database: Database,
): (asked: Operations['exportPage']['takes']) => Operations['exportPage']['gives'] {
  const heads = headStore(database)
  const blobs = blobLoader(database)
  const sql = {
    rows: database.prepare(inVersionOrder(archiveColumns)),
    lane: database.prepare('select audience_key, kind from lanes where lane = ?'),
  }

  const inSnapshot = snapshots(database)
  // Others may purge and erase between two looks at the file.
  return asked => inSnapshot(() => page(asked))

  function page({
    project,
    conversationId,
    after,
    upTo: bound,
  }: Operations['exportPage']['takes']): Operations['exportPage']['gives'] {
    // The worker's own writes on this connection do not show as somebody else's.
    heads.forget()
    const entry = heads.conversation(project, conversationId)
    const upTo = bound ?? entry?.head.version ?? 0
    if (!entry) return { lines: [], last: after, upTo }
    const lines: string[] = []
    const { branchOf } = entry.head.info
    if (after === 0) {
      const heading: ArchiveHeading = {
        colloquy: 'archive',
        format: 1,
        project,
        conversationId,
        events: upTo,
        ...(branchOf && {
          branchOf: { ...branchOf, hash: Buffer.from(heads.hashAt(project, branchOf) ?? []).toString('base64') },
        }),
      }
      lines.push(JSON.stringify(heading))
    }
    const linesOf = archivist({
      laneOf(lane) {
        const [audienceKey, kind] = sql.lane.get(lane) as [string, LaneKind]
        const audience = audienceOfKey(audienceKey)
        return audience && { audienceKey, kind, audience }
      },
      sumsBefore: (lane, version) => heads.sumsUpTo(entry.row, lane, version - 1),
      blobOf: blobs(heads.projectRow(project)!),
    })
    let last = after
    let bytes = 0
    let rows: ArchiveRow[] = []
    // In a file that lost some, a page may be empty.
    for (let first = after + 1; rows.length === 0 && first <= upTo; first += pageRows) {
      rows = sql.rows.all(entry.row, first, Math.min(upTo, first + pageRows - 1)) as ArchiveRow[]
    }
    for (const row of rows) {
      for (const line of linesOf(row)) lines.push(JSON.stringify(line))
      last = row[0]
      bytes += row[14]?.length ?? 0
      if (bytes > pageBytes) break
    }
    const hash = rows.at(-1)?.[16]
    if (last === upTo && last > after && hash) {
      const end: ArchiveEnd = { end: true, events: last, hash: Buffer.from(hash).toString('base64') }
      lines.push(JSON.stringify(end))
    }
    return { lines, last, upTo }
  }
}
