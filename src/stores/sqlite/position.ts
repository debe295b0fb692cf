/**
 * Positions as callers hold them: opaque, and checked when they come back.
 *
 * A position names the store (its epoch), the row, and a few characters of the hash there. A store that was restored from
 * a backup, or copied and written since, has another hash at that row. Then the reader gets an error, and does not
 * silently miss events.
 */
import { PositionUnknown } from '../../errors.ts'

export interface PositionParts {
  epoch: string
  row: number
  check: string
}

export function positionText(epoch: string, row: number, hash: Uint8Array | undefined): string {
  return `${epoch}.${row.toString(36)}.${hash ? checkOf(hash) : ''}`
}

export function checkOf(hash: Uint8Array): string {
  const bytes = Buffer.isBuffer(hash) ? hash : Buffer.from(hash.buffer, hash.byteOffset, hash.byteLength)
  return bytes.toString('base64url', 0, 6)
}

export function positionParts(position: string): PositionParts {
  const match = /^([\w-]+)\.([0-9a-z]+)\.([\w-]*)$/.exec(position)
  const row = match ? Number.parseInt(match[2]!, 36) : Number.NaN
  if (!match || !Number.isSafeInteger(row)) throw new PositionUnknown(position, 'it is not a position')
  return { epoch: match[1]!, row, check: match[3]! }
}

/**
 * The floor of new positions, so that those of removed events are never used again, as an expression of SQL. Where damage
 * took it away, the log alone counts.
 */
export const positionFloor = (schema: 'main' | 'log' = 'main') =>
  `coalesce((select cast(value as integer) from ${schema}.meta where name = 'position_floor'), 0)`

/** The newest position that was ever given, whether its event is still there or not. */
export const lastPosition = (schema: 'main' | 'log' = 'main') =>
  `max(coalesce((select max(position) from ${schema}.events), 0), ${positionFloor(schema)})`
