/** Values on their way to the server. */
import { textColumn } from './array-column.ts'

/** What the server takes. */
export type Value = string | number | boolean | null | Uint8Array | readonly string[] | readonly number[]

/** Bytes, and texts in arrays, go in the server's binary form; all else as it is written. */
export function asSent(value: Value): string | Buffer | null {
  if (value === null || typeof value === 'string') return value
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  if (Buffer.isBuffer(value)) return value
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
  const [first] = value
  return typeof first === 'string' ? textColumn(value as readonly string[], one => one) : `{${value.join(',')}}`
}
