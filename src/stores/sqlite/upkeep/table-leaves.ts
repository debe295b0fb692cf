/**
 * Rows as they lie in the pages of a file, read without SQLite: it finds them through the pages above only, and those may
 * be lost. Whose rows they are is not in the pages; the caller knows by what they look like.
 *
 * The format: https://www.sqlite.org/fileformat2.html
 */
import { closeSync, openSync, readSync } from 'node:fs'

/** Of all our files: none was ever made with another. */
export const pageSize = 4096

export interface LeafRow {
  id: number
  columns: number
  /** To be asked before the next row. Undefined where the pages that its content goes on in are not what they should be. */
  values(): LeafValue[] | undefined
}

export type LeafValue = string | number | null | Buffer

/** Gives a page by its number; undefined where there is none. */
export type PageAt = (page: number) => Buffer | undefined

/** Every page but the first, a chunk at a time: a file may be larger than the memory. A page is good until the next. */
export function* pagesOf(descriptor: number): Generator<[number: number, page: Buffer]> {
  const chunk = Buffer.alloc(256 * pageSize)
  for (let number = 2; ; ) {
    const read = readSync(descriptor, chunk, 0, chunk.length, (number - 1) * pageSize)
    if (read < pageSize) return
    for (let at = 0; at + pageSize <= read; at += pageSize) yield [number++, chunk.subarray(at, at + pageSize)]
  }
}

/** The rows of all tables of a file that have one by number; not of those `without rowid`. */
export function* rowsInLeaves(file: string): Generator<LeafRow> {
  const descriptor = openSync(file, 'r')
  const pageAt: PageAt = number => {
    const page = Buffer.alloc(pageSize)
    return readSync(descriptor, page, 0, pageSize, (number - 1) * pageSize) === pageSize ? page : undefined
  }
  try {
    for (const [, page] of pagesOf(descriptor)) yield* rowsIn(page, pageAt)
  } finally {
    closeSync(descriptor)
  }
}

const leafOfTable = 0x0d
const pointersStart = 8

/** None where the page is not a leaf of a table. */
export function* rowsIn(page: Buffer, pageAt: PageAt): Generator<LeafRow> {
  if (page[0] !== leafOfTable) return
  const cells = Math.min(page.readUInt16BE(3), (page.length - pointersStart) / 2)
  for (let cell = 0; cell < cells; cell++) {
    const row = rowAt(page, page.readUInt16BE(pointersStart + 2 * cell), pageAt)
    if (row) yield row
  }
}

/** A cell: how long the record is, the row's number, and the record, which begins with the types of its columns. */
function rowAt(page: Buffer, at: number, pageAt: PageAt): LeafRow | undefined {
  const [length, afterLength] = readVarint(page, at)
  const [id, start] = readVarint(page, afterLength)
  const local = bytesInLeaf(length)
  if (start + local > page.length) return undefined
  const [lengthOfTypes, firstType] = readVarint(page, start)
  if (lengthOfTypes > local) return undefined
  const types: number[] = []
  for (let next = firstType; next < start + lengthOfTypes; ) {
    const [type, end] = readVarint(page, next)
    types.push(type)
    next = end
  }
  const values = () => {
    const record = wholeRecord(page, { start, local, length }, pageAt)
    return record && decoded(record.subarray(lengthOfTypes), types)
  }
  return { id, columns: types.length, values }
}

/** A longer record goes on in other pages, filled whole, so that what is left over stands in the leaf. */
function bytesInLeaf(length: number): number {
  const most = pageSize - 35
  if (length <= most) return length
  const least = Math.floor(((pageSize - 12) * 32) / 255) - 23
  const rest = least + ((length - least) % (pageSize - 4))
  return rest <= most ? rest : least
}

function wholeRecord(
  page: Buffer,
  { start, local, length }: { start: number; local: number; length: number },
  pageAt: PageAt,
): Buffer | undefined {
  const pieces = [page.subarray(start, start + local)]
  if (local === length) return pieces[0]
  if (start + local + 4 > page.length) return undefined
  let next = page.readUInt32BE(start + local)
  const seen = new Set([0])
  for (let left = length - local; left > 0; ) {
    const more = seen.has(next) ? undefined : pageAt(next)
    if (!more) return undefined
    seen.add(next)
    next = more.readUInt32BE(0)
    const piece = more.subarray(4, 4 + left)
    pieces.push(piece)
    left -= piece.length
  }
  return Buffer.concat(pieces)
}

/** How many bytes each kind of number takes; the last two are 0 and 1 themselves. */
const numberSizes = [0, 1, 2, 3, 4, 6, 8, 8, 0, 0]

function decoded(content: Buffer, types: readonly number[]): LeafValue[] | undefined {
  let at = 0
  const values: LeafValue[] = []
  for (const type of types) {
    const size = type < 12 ? (numberSizes[type] ?? 0) : Math.floor((type - 12) / 2)
    if (at + size > content.length) return undefined
    const bytes = content.subarray(at, at + size)
    values.push(type < 12 ? numberIn(bytes, type) : type % 2 === 0 ? Buffer.from(bytes) : bytes.toString('utf8'))
    at += size
  }
  return values
}

function numberIn(bytes: Buffer, type: number): number | null {
  if (type === 0) return null
  if (type === 6) return Number(bytes.readBigInt64BE())
  if (type === 7) return bytes.readDoubleBE()
  return bytes.length === 0 ? type - 8 : bytes.readIntBE(0, bytes.length)
}

/** A number in groups of seven bits, highest first, and where it ends. Numbers of ours have fewer than eight groups. */
function readVarint(bytes: Buffer, at: number): [value: number, end: number] {
  let value = 0
  for (let end = at; end < at + 8; end++) {
    const byte = bytes[end] ?? 0
    value = value * 128 + (byte & 0x7f)
    if (byte < 0x80) return [value, end + 1]
  }
  return [value, at + 8]
}
