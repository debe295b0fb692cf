/**
 * Columns of many rows as arrays in the server's own binary form: what stands in them is neither escaped here nor parsed
 * there, and bytes stay bytes.
 */

/** The numbers that the server has for the types of elements. */
const types = { int4: 23, int8: 20, text: 25, bytea: 17 } as const
const headerBytes = 20
const two32 = 0x1_0000_0000
/** Measuring a text costs as much as writing it; a short one is given the most room it can take. */
const shortText = 1024

type Of<Row, V> = (row: Row) => V | null

export function int4Column<Row>(rows: readonly Row[], of: Of<Row, number>): Buffer {
  const bytes = Buffer.allocUnsafe(headerBytes + rows.length * 8)
  let at = headerBytes
  let nulls = 0
  for (const row of rows) {
    const value = of(row)
    if (value === null) {
      nulls++
      at = bytes.writeInt32BE(-1, at)
    } else {
      at = bytes.writeInt32BE(4, at)
      at = bytes.writeInt32BE(value, at)
    }
  }
  return finished(bytes, at, { type: types.int4, size: rows.length, nulls })
}

export function int8Column<Row>(rows: readonly Row[], of: Of<Row, number | bigint>): Buffer {
  const bytes = Buffer.allocUnsafe(headerBytes + rows.length * 12)
  let at = headerBytes
  let nulls = 0
  for (const row of rows) {
    const value = of(row)
    if (value === null) {
      nulls++
      at = bytes.writeInt32BE(-1, at)
      continue
    }
    at = bytes.writeInt32BE(8, at)
    if (typeof value === 'bigint') at = bytes.writeBigInt64BE(value, at)
    else {
      const high = Math.floor(value / two32)
      at = bytes.writeInt32BE(high, at)
      at = bytes.writeUInt32BE(value - high * two32, at)
    }
  }
  return finished(bytes, at, { type: types.int8, size: rows.length, nulls })
}

export function textColumn<Row>(rows: readonly Row[], of: Of<Row, string>): Buffer {
  let room = headerBytes
  for (const row of rows) {
    const value = of(row)
    room += 4
    if (value !== null) room += value.length < shortText ? value.length * 3 : Buffer.byteLength(value)
  }
  const bytes = Buffer.allocUnsafe(room)
  let at = headerBytes
  let nulls = 0
  for (const row of rows) {
    const value = of(row)
    if (value === null) {
      nulls++
      at = bytes.writeInt32BE(-1, at)
    } else {
      const length = bytes.write(value, at + 4)
      bytes.writeInt32BE(length, at)
      at += 4 + length
    }
  }
  return finished(bytes, at, { type: types.text, size: rows.length, nulls })
}

export function byteaColumn<Row>(rows: readonly Row[], of: Of<Row, Uint8Array>): Buffer {
  let room = headerBytes
  for (const row of rows) room += 4 + (of(row)?.length ?? 0)
  const bytes = Buffer.allocUnsafe(room)
  let at = headerBytes
  let nulls = 0
  for (const row of rows) {
    const value = of(row)
    if (value === null) {
      nulls++
      at = bytes.writeInt32BE(-1, at)
    } else {
      at = bytes.writeInt32BE(value.length, at)
      bytes.set(value, at)
      at += value.length
    }
  }
  return finished(bytes, at, { type: types.bytea, size: rows.length, nulls })
}

/** With what stands before the elements: one dimension that counts from 1, or none where there are no elements. */
function finished(
  bytes: Buffer,
  end: number,
  { type, size, nulls }: { type: number; size: number; nulls: number },
): Buffer {
  bytes.writeInt32BE(size === 0 ? 0 : 1, 0)
  bytes.writeInt32BE(nulls > 0 ? 1 : 0, 4)
  bytes.writeInt32BE(type, 8)
  bytes.writeInt32BE(size, 12)
  bytes.writeInt32BE(1, 16)
  return bytes.subarray(0, size === 0 ? 12 : end)
}
