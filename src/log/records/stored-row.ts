/** Rows of an events table, whichever store has it: their checksum, and the event they hold. */
import { crc32 } from 'node:zlib'
import type { StoredEvent } from '../events/event.ts'
import { decode, type LoadBlob } from './record.ts'

/** What a checksum covers: the content, and the fields that place it. */
export interface ChecksumInput {
  version: number
  at: number
  lane: number | null
  type: string
  message: string | null
  body: string | null
}

/** More than any CRC-32. Rows of before have less: theirs left out the upper part of the time. */
const ofToday = 0x2_0000_0000

/** CRC-32, cheap enough to check on every read: a record that moved or changed is reported, never handed out. */
export function checksum(row: ChecksumInput): number {
  return ofToday + crcOf(row, Math.floor(row.at / 0x1_0000_0000))
}

/** Whether a row is still what was written. */
export function isIntact(row: ChecksumInput & { crc: number }): boolean {
  return row.crc === (row.crc < ofToday ? crcOf(row, 0) : checksum(row))
}

function crcOf({ version, at, lane, type, message, body }: ChecksumInput, era: number): number {
  // In a damaged row a column may hold anything.
  const name = String(message ?? type)
  let place =
    Math.imul(version, 0x9e3779b1) ^ Math.imul(lane ?? 0, 0x85ebca6b) ^ Math.imul(era, 0xc2b2ae35) ^ (at % 0x100000000)
  for (let i = 0; i < name.length; i++) place = Math.imul(place ^ name.charCodeAt(i), 0x01000193)
  return crc32(typeof body === 'string' ? body : String(body ?? ''), place >>> 0)
}

export interface StoredRow extends ChecksumInput {
  schema: number
  crc: number
}

/** The event in a row, or word of its damage. */
export function eventIn(row: StoredRow, loadBlob: LoadBlob): StoredEvent {
  const messageId = row.message ?? undefined
  if (!isIntact(row)) {
    return { type: 'damaged', storedType: row.type, messageId, reason: 'its stored bytes do not match their checksum' }
  }
  return decode({ type: row.type, schema: row.schema, body: row.body, messageId }, loadBlob)
}
