/**
 * The first page of a store's file, made anew where it is damaged; the rest of the file is for `salvage.ts`.
 *
 * SQLite opens nothing without this page, yet nothing that was said is in it: only a header, whose fields that matter for
 * reading are the same in all our files, and the root of the list of tables (`sqlite_schema`), whose leaves are other
 * pages. They are known by what they look like. The format: https://www.sqlite.org/fileformat2.html
 */
import { closeSync, existsSync, fstatSync, ftruncateSync, openSync, readSync, statSync, writeSync } from 'node:fs'
import { openDatabase } from './database.ts'
import { isBroken } from './errors.ts'
import { applicationId, newestSchema } from './migrate.ts'

/** Of all our files: none was ever made with another. */
const pageSize = 4096
const headerSize = 100

/** A page that holds rows of the list of tables. */
export interface SchemaLeaf {
  page: number
  lastRow: number
}

/**
 * Makes the first page of `file` anew, from what its other pages and its write-ahead log say. Writes to the file: it must
 * be a copy, and nobody's but ours.
 */
export function mendFirstPage(file: string): void {
  putHeader(file)
  if (existsSync(`${file}-wal`)) takeInLog(file)
  putRoot(file)
}

/** Before the list of tables is looked for: its newest pages may be in the write-ahead log. */
function takeInLog(file: string): void {
  try {
    const database = openDatabase({ path: file, durability: 'relaxed', cutOff: true })
    try {
      database.exec('pragma wal_checkpoint(truncate)')
    } finally {
      database.close()
    }
  } catch (error) {
    // Then what is in the file will have to do.
    if (!isBroken(error)) throw error
  }
}

/** SQLite takes an empty file for a new one, and removes the write-ahead log beside it, with all that is in there. */
export function isShorterThanAPage(file: string): boolean {
  const size = statSync(file, { throwIfNoEntry: false })?.size
  return size !== undefined && size < pageSize
}

/** Whether SQLite reads the pages behind this header as they were written. It takes several other values without a word. */
export function hasSoundHeader(file: string): boolean {
  return withFile(file, 'r', descriptor => {
    const header = Buffer.alloc(headerSize)
    readSync(descriptor, header, 0, headerSize, 0)
    return isSound(header, pagesIn(descriptor))
  })
}

function isSound(header: Buffer, pages: number): boolean {
  const ours = headerFor(pages)
  const isOurs = readForContent.every(([from, to]) => header.subarray(from, to).equals(ours.subarray(from, to)))
  const counted = header.readUInt32BE(place.pages)
  const isCounted = header.readUInt32BE(place.changes) === header.readUInt32BE(place.changesWhenCounted)
  return isOurs && (!isCounted || counted === 0 || counted >= pages)
}

const place = {
  magic: 0,
  pageSize: 16,
  fileFormats: 18,
  payloadFractions: 21,
  changes: 24,
  pages: 28,
  schemaChanges: 40,
  schemaFormat: 44,
  encoding: 56,
  userVersion: 60,
  applicationId: 68,
  changesWhenCounted: 92,
}

/** Up to the page size; bytes kept free in each page and fractions; schema format; vacuum mode and encoding. */
const readForContent = [
  [0, 18],
  [20, 24],
  [44, 48],
  [52, 60],
] as const

/** The header of a store of so many pages. No list of free pages: they are not read, and nothing is written to the copy. */
export function headerFor(pages: number): Buffer {
  const header = Buffer.alloc(headerSize)
  header.write('SQLite format 3\0', place.magic, 'latin1')
  header.writeUInt16BE(pageSize, place.pageSize)
  header.set([2, 2], place.fileFormats)
  header.set([64, 32, 32], place.payloadFractions)
  for (const counter of [place.changes, place.changesWhenCounted, place.schemaChanges]) header.writeUInt32BE(1, counter)
  header.writeUInt32BE(pages, place.pages)
  header.writeUInt32BE(4, place.schemaFormat)
  header.writeUInt32BE(1, place.encoding)
  header.writeUInt32BE(newestSchema, place.userVersion)
  header.writeUInt32BE(applicationId, place.applicationId)
  return header
}

const kind = { interior: 0x05, leaf: 0x0d }
const interiorStart = 12
const leafStart = 8

/** A first page whose tree leads to these leaves. Without cells it leads to one, which SQLite allows here alone. */
export function firstPageOver(leaves: readonly SchemaLeaf[], pages: number): Buffer {
  const page = Buffer.alloc(pageSize)
  headerFor(pages).copy(page)
  const ordered = [...leaves].sort((a, b) => a.lastRow - b.lastRow)
  const rightmost = ordered.pop()
  let content = pageSize
  ordered.forEach((leaf, index) => {
    const cell = Buffer.from([0, 0, 0, 0, ...varint(leaf.lastRow)])
    cell.writeUInt32BE(leaf.page)
    content -= cell.length
    cell.copy(page, content)
    page.writeUInt16BE(content, headerSize + interiorStart + 2 * index)
  })
  page.writeUInt8(kind.interior, headerSize)
  page.writeUInt16BE(ordered.length, headerSize + 3)
  page.writeUInt16BE(content, headerSize + 5)
  page.writeUInt32BE(rightmost?.page ?? 0, headerSize + 8)
  return page
}

/** The last row of the list of tables in this page, or undefined when it holds none. */
export function lastSchemaRow(page: Buffer): number | undefined {
  if (page[0] !== kind.leaf) return undefined
  const cells = Math.min(page.readUInt16BE(3), (page.length - leafStart) / 2)
  let last: number | undefined
  for (let cell = 0; cell < cells; cell++) {
    const row = schemaRowAt(page, page.readUInt16BE(leafStart + 2 * cell))
    if (row !== undefined) last = Math.max(row, last ?? 0)
  }
  return last
}

const schemaColumns = 5
const schemaTypes = new Set(['table', 'index', 'trigger', 'view'])

/** The number of the row whose cell begins here, if it is one of the list of tables. */
function schemaRowAt(page: Buffer, at: number): number | undefined {
  const [, afterLength] = readVarint(page, at)
  const [row, record] = readVarint(page, afterLength)
  const [lengthOfTypes, firstType] = readVarint(page, record)
  const content = record + lengthOfTypes
  const types: number[] = []
  for (let next = firstType; next < content && types.length <= schemaColumns; ) {
    const [type, after] = readVarint(page, next)
    types.push(type)
    next = after
  }
  const [typeOfFirst = 0] = types
  // Of texts the type says the length: odd, from 13 on.
  if (types.length !== schemaColumns || typeOfFirst < 13 || typeOfFirst % 2 === 0) return undefined
  const first = page.toString('latin1', content, content + (typeOfFirst - 13) / 2)
  return schemaTypes.has(first) ? row : undefined
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

function varint(value: number): number[] {
  const groups = [value % 128]
  for (let rest = Math.floor(value / 128); rest > 0; rest = Math.floor(rest / 128)) groups.unshift(128 + (rest % 128))
  return groups
}

function putHeader(file: string): void {
  withFile(file, 'r+', descriptor => {
    if (fstatSync(descriptor).size < pageSize) ftruncateSync(descriptor, pageSize)
    writeSync(descriptor, headerFor(pagesIn(descriptor)), 0, headerSize, 0)
  })
}

/** Ours has a handful; more than a first page can lead to is somebody else's. */
const mostLeaves = 200

function putRoot(file: string): void {
  withFile(file, 'r+', descriptor => {
    const leaves = findLeaves(descriptor)
    if (leaves.length === 0 || leaves.length > mostLeaves) return
    writeSync(descriptor, firstPageOver(leaves, pagesIn(descriptor)), 0, pageSize, 0)
  })
}

function findLeaves(descriptor: number): SchemaLeaf[] {
  const leaves: SchemaLeaf[] = []
  const chunk = Buffer.alloc(256 * pageSize)
  for (let page = 2; ; ) {
    const read = readSync(descriptor, chunk, 0, chunk.length, (page - 1) * pageSize)
    if (read < pageSize) return leaves
    for (let at = 0; at + pageSize <= read; at += pageSize, page++) {
      const lastRow = lastSchemaRow(chunk.subarray(at, at + pageSize))
      if (lastRow !== undefined) leaves.push({ page, lastRow })
    }
  }
}

function pagesIn(descriptor: number): number {
  return Math.ceil(fstatSync(descriptor).size / pageSize)
}

function withFile<T>(file: string, flags: 'r' | 'r+', work: (descriptor: number) => T): T {
  const descriptor = openSync(file, flags)
  try {
    return work(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
