/** Rows of the events table, in either store: their checksum, and the event they hold. */
import { crc32 } from 'node:zlib'
import type { StoredEvent } from '../events/event.ts'
import { decode, type LoadBlob } from './record.ts'

/** The fields that a checksum covers: the content, and its place. */
export interface ChecksumInput {
  version: number
  at: number
  lane: number | null
  type: string
  message: string | null
  body: string | null
}

/** CRC-32, cheap enough to check on every read: a record that moved or changed is reported, never handed out. */
export function checksum(row: ChecksumInput): number {
  const { version, at, lane, type, message, body } = row
  // In a damaged row a column may hold anything.
  const name = String(message ?? type)
  const era = Math.floor(at / 0x1_0000_0000)
  let place =
    Math.imul(version, 0x9e3779b1) ^ Math.imul(lane ?? 0, 0x85ebca6b) ^ Math.imul(era, 0xc2b2ae35) ^ (at % 0x100000000)
  for (let i = 0; i < name.length; i++) place = Math.imul(place ^ name.charCodeAt(i), 0x01000193)
  return crc32(typeof body === 'string' ? body : String(body ?? ''), place >>> 0)
}

/** True when a row is still what was written. */
export function isIntact(row: ChecksumInput & { crc: number }): boolean {
  return row.crc === checksum(row)
}

export interface StoredRow extends ChecksumInput {
  schema: number
  crc: number
}

/** Returns the event in a row, or an event of type `damaged`. */
export function eventIn(row: StoredRow, loadBlob: LoadBlob): StoredEvent {
  const messageId = row.message ?? undefined
  if (!isIntact(row)) {
    return { type: 'damaged', storedType: row.type, messageId, reason: 'its stored bytes do not match their checksum' }
  }
  return decode({ type: row.type, schema: row.schema, body: row.body, messageId }, loadBlob)
}
