/**
 * The first page of a store's file, made anew where it is damaged; the rest of the file is for `salvage.ts`.
 *
 * SQLite opens nothing without this page, yet nothing that was said is in it: only a header, whose fields that matter for
 * reading are the same in all our files, and the root of the list of tables (`sqlite_schema`), whose leaves are other
 * pages. They are known by what they look like. The format: https://www.sqlite.org/fileformat2.html
 */
import { closeSync, existsSync, fstatSync, ftruncateSync, openSync, readSync, statSync, writeSync } from 'node:fs'
import { openDatabase } from '../database.ts'
import { isBroken } from '../errors.ts'
import { applicationId } from '../open-schema.ts'
import { schemaNumber } from '../schema.ts'
import { pageSize, pagesOf, rowsIn } from './table-leaves.ts'

const headerSize = 100

/** A page that holds rows of the list of tables. */
interface SchemaLeaf {
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
function headerFor(pages: number): Buffer {
  const header = Buffer.alloc(headerSize)
  header.write('SQLite format 3\0', place.magic, 'latin1')
  header.writeUInt16BE(pageSize, place.pageSize)
  header.set([2, 2], place.fileFormats)
  header.set([64, 32, 32], place.payloadFractions)
  for (const counter of [place.changes, place.changesWhenCounted, place.schemaChanges]) header.writeUInt32BE(1, counter)
  header.writeUInt32BE(pages, place.pages)
  header.writeUInt32BE(4, place.schemaFormat)
  header.writeUInt32BE(1, place.encoding)
  header.writeUInt32BE(schemaNumber, place.userVersion)
  header.writeUInt32BE(applicationId, place.applicationId)
  return header
}

const interiorOfTable = 0x05
const pointersStart = 12

/** A first page whose tree leads to these leaves. Without cells it leads to one, which SQLite allows here alone. */
function firstPageOver(leaves: readonly SchemaLeaf[], pages: number): Buffer {
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
    page.writeUInt16BE(content, headerSize + pointersStart + 2 * index)
  })
  page.writeUInt8(interiorOfTable, headerSize)
  page.writeUInt16BE(ordered.length, headerSize + 3)
  page.writeUInt16BE(content, headerSize + 5)
  page.writeUInt32BE(rightmost?.page ?? 0, headerSize + 8)
  return page
}

const schemaTypes = new Set<unknown>(['table', 'index', 'trigger', 'view'])

/** The last row of the list of tables in this page, or undefined when it holds none. */
function lastSchemaRow(page: Buffer): number | undefined {
  let last: number | undefined
  for (const row of rowsIn(page, () => undefined)) {
    if (row.columns === 5 && schemaTypes.has(row.values()?.[0])) last = Math.max(row.id, last ?? 0)
  }
  return last
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
  for (const [page, bytes] of pagesOf(descriptor)) {
    const lastRow = lastSchemaRow(bytes)
    if (lastRow !== undefined) leaves.push({ page, lastRow })
  }
  return leaves
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
