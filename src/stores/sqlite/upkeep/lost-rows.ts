/**
 * Rows that nothing in a damaged file leads to any more: the pages above them are lost. Which table they are of is told by
 * what they look like.
 */
import { type Audience, audienceOfKey } from '../../../log/events/audience.ts'
import type { LaneKind } from '../../../log/records/lane.ts'
import { isIntact } from '../../../log/records/stored-row.ts'
import type { ArchiveRow } from '../../../log/upkeep/archived-rows.ts'
import { looksLike, type RescuedRow } from './rescued-records.ts'
import { type LeafValue, rowsInLeaves } from './table-leaves.ts'

export type Lost =
  | { table: 'events'; row: [number, number, number, ...ArchiveRow] }
  | { table: 'conversations'; id: number; row: { id: string; project: number; info: string } }
  | {
      table: 'lanes'
      id: number
      row: { conversation: number; audienceKey: string; kind: LaneKind; audience: Audience }
    }
  | { table: 'blobs'; digest: string; json: string }
  | { table: 'purges'; id: number; row: RescuedRow }

/** Rows that look like ours, in the order they lie in the file. Events only as they were written. */
export function* lostRows(file: string, isKnown: (position: number) => boolean): Generator<Lost> {
  for (const row of rowsInLeaves(file)) {
    if (row.columns === eventColumns && isKnown(row.id)) continue
    const lost = looks[row.columns]?.(row.id, row.values() ?? [])
    if (lost) yield lost
  }
}

const eventColumns = 20

/** By how many columns a row has. Conversations of before schema 3 have one less, and so do sessions. */
const looks: Record<number, (id: number, values: LeafValue[]) => Lost | undefined> = {
  [eventColumns](position, [, conversation, ...values]) {
    const [crc] = values.splice(13, 1)
    const row = values as unknown as ArchiveRow
    if (typeof conversation !== 'number' || typeof crc !== 'number' || !isAsWritten(row, crc)) return undefined
    return { table: 'events', row: [position, conversation, crc, ...row] }
  },
  12(purge, [key, ...row]) {
    return key === null && looksLike('purges', row) ? { table: 'purges', id: purge, row } : undefined
  },
  10: conversationIn,
  9: conversationIn,
  5(lane, [key, conversation, audienceKey, kind]) {
    const audience = key === null && typeof audienceKey === 'string' ? audienceOfKey(audienceKey) : undefined
    if (!audience || typeof conversation !== 'number') return undefined
    return {
      table: 'lanes',
      id: lane,
      row: { conversation, audienceKey: audienceKey as string, kind: kind as LaneKind, audience },
    }
  },
  4(_blob, [, , digest, json]) {
    if (typeof digest !== 'string' || !Buffer.isBuffer(json)) return undefined
    return { table: 'blobs', digest, json: json.toString('utf8') }
  },
}

function conversationIn(conversation: number, [, project, id, workKey, , , , , info]: LeafValue[]): Lost | undefined {
  const isOne = typeof project === 'number' && typeof id === 'string' && typeof workKey === 'string'
  if (!isOne || typeof info !== 'string') return undefined
  return { table: 'conversations', id: conversation, row: { id, project, info } }
}

export function isAsWritten(row: ArchiveRow, crc: number): boolean {
  const [version, type, , at, , , , message, lane] = row
  return isIntact({ version, at, lane, type, message, body: row[14], crc })
}
