/**
 * Rescues what can be read of a damaged file into a new one. The damaged file is not touched.
 *
 * A conversation that lost rows is rescued with what is left of it, and `verify` on the new file names the gaps. Where the
 * first page keeps SQLite from reading the others, a private copy is read whose first page is made anew.
 */
import {
  chmodSync,
  constants,
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { StoreFull, StoreReadOnly, StoreUnusable } from '../../../errors.ts'
import { idProblem } from '../../../log/events/id.ts'
import { nameless, parsedOr } from '../../../log/fold.ts'
import { noSums } from '../../../log/records/lane.ts'
import { digestOf, hashOf } from '../../../log/records/record.ts'
import type { ArchivedEvent, ArchiveLine } from '../../../log/upkeep/archive.ts'
import { headerOf } from '../../../log/upkeep/archive-check.ts'
import { archivist } from '../../../log/upkeep/archived-rows.ts'
import { makeFolder } from '../../common/make-folder.ts'
import { type Database, openDatabase } from '../database.ts'
import { asStoreError, isBroken } from '../errors.ts'
import { makeSchema } from '../open-schema.ts'
import { hasSoundHeader, isShorterThanAPage, mendFirstPage } from './first-page.ts'
import { conversationImporter } from './import.ts'
import { inOrderOf, isWhole, type Readable, readable, type SalvagedRow, tables, tablesIn } from './readable-rows.ts'
import { putRecords } from './rescued-records.ts'
import { mendShapes, misshapenTables } from './table-shapes.ts'

export interface Salvaged {
  conversations: number
  events: number
  /** What could not be brought over, in words. */
  losses: string[]
}

/**
 * The store at `from` should not be open in this process: a damaged file is looked at by other means than SQLite too, and
 * closing it then drops the locks of this process on it.
 *
 * @throws {StoreUnusable} when there is nothing of a store in the file
 */
export async function salvage(from: string, to: string): Promise<Salvaged> {
  refuseExisting(to)
  const rows = readableAnyhow(from, to)
  // Half of it would pass for a store that is whole, so it gets its name when it is.
  const folder = folderBeside(to)
  const draft = join(folder, 'new.db')
  let target: Database | undefined
  try {
    target = openDatabase({ path: draft, durability: 'full' })
    makeSchema(target)
    const salvaged = bringOver(rows, target)
    // A write-ahead log would stay behind under the other name, and closing says nothing of one that it cannot empty.
    target.exec('pragma wal_checkpoint(truncate)')
    target.close()
    // Once more: somebody may have made it while we read.
    refuseExisting(to)
    renameSync(draft, to)
    removeLeftFolders(to)
    return salvaged
  } catch (error) {
    closeAnyhow(target)
    throw asStoreError(error, to)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function refuseExisting(to: string): void {
  if (existsSync(to)) throw new StoreUnusable(`${to} exists already; salvage writes a new file.`, { path: to })
  const wal = `${to}-wal`
  if ((statSync(wal, { throwIfNoEntry: false })?.size ?? 0) === 0) return
  // SQLite would take it for the new file's own, and put what it holds in place of what was rescued.
  throw new StoreUnusable(
    `${wal} is the write-ahead log of a file that was there before, and would be taken for the new one's. Nothing was written; move it away, or name another file.`,
    { path: to },
  )
}

const folderMark = '-salvage-'

/** A folder of our own, on the same disk as the new file. */
function folderBeside(to: string): string {
  try {
    makeFolder(dirname(to))
    return mkdtempSync(`${to}${folderMark}`)
  } catch (error) {
    throw asStoreError(error, to)
  }
}

/**
 * What salvages of the same file left that were killed: each is as large as the store. Now that the file has its name,
 * one that may still be at work will be refused and needs its folder no more.
 */
function removeLeftFolders(to: string): void {
  const beside = dirname(resolve(to))
  const prefix = `${basename(to)}${folderMark}`
  try {
    for (const one of readdirSync(beside, { withFileTypes: true })) {
      const isOurs = one.isDirectory() && one.name.startsWith(prefix) && /^\w{6}$/.test(one.name.slice(prefix.length))
      if (isOurs && readdirSync(join(beside, one.name)).every(name => /^(new|colloquy)\.db/.test(name))) {
        rmSync(join(beside, one.name), { recursive: true, force: true })
      }
    }
  } catch {
    // What was rescued is there; that something lies beside it is no reason to say otherwise.
  }
}

function closeAnyhow(database: Database | undefined): void {
  try {
    database?.close()
  } catch {
    // What went wrong before is told.
  }
}

function readableAnyhow(from: string, to: string): Readable {
  const found = readableIn(from)
  const hasSoundFirstPage = found !== undefined && hasSoundHeader(from)
  if (found && !found.isMisshapen && (hasSoundFirstPage || isWhole(found.rows))) return found.rows
  try {
    return readableInCopy({ from, to, hasSoundFirstPage })
  } catch (error) {
    if (found) return found.rows
    throw error
  }
}

/** Undefined where the file's first page, or what it says of its tables, keeps SQLite from reading the others. */
function readableIn(from: string): { rows: Readable; isMisshapen: boolean } | undefined {
  if (isShorterThanAPage(from)) return undefined
  const source = openedIfSound(from)
  if (!source) return undefined
  try {
    if (tablesIn(source).length < Object.keys(tables).length) return undefined
    return { rows: readable(source), isMisshapen: misshapenTables(source).length > 0 }
  } finally {
    source.close()
  }
}

/**
 * With what is damaged of its first page and of its list of tables made anew. Beside the new file, where there must be room
 * for as much anyway.
 */
function readableInCopy({
  from,
  to,
  hasSoundFirstPage,
}: {
  from: string
  to: string
  hasSoundFirstPage: boolean
}): Readable {
  const { folder, copy } = copyOf(from, to)
  let source: Database | undefined
  try {
    if (!hasSoundFirstPage) mendFirstPage(copy)
    mendShapes(copy)
    source = openedIfSound(copy)
    const found = source ? tablesIn(source) : []
    if (!source || !found.includes('events') || !found.includes('conversations')) throw nothingToSalvage(from, source)
    return readable(source)
  } catch (error) {
    throw asStoreError(error, to)
  } finally {
    source?.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

function copyOf(from: string, to: string): { folder: string; copy: string } {
  const folder = folderBeside(to)
  try {
    const copy = join(folder, 'colloquy.db')
    for (const suffix of ['', '-wal']) {
      if (suffix !== '' && !existsSync(from + suffix)) continue
      copyFileSync(from + suffix, copy + suffix, constants.COPYFILE_FICLONE)
      chmodSync(copy + suffix, 0o600)
    }
    return { folder, copy }
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    throw asStoreError(error, to)
  }
}

function openedIfSound(path: string): Database | undefined {
  try {
    return openDatabase({ path, durability: 'full', readOnly: true, cutOff: true })
  } catch (error) {
    if (isBroken(error)) return undefined
    throw error
  }
}

function nothingToSalvage(from: string, source: Database | undefined): StoreUnusable {
  const names = source ? inOrderOf<[string]>(source, 'select name from sqlite_schema').map(([name]) => name) : []
  const isForeign = names.length > 0 && !names.some(name => Object.hasOwn(tables, name))
  const what = isForeign
    ? 'is an SQLite database, but not a Colloquy store'
    : 'is not a Colloquy store, or the pages that list its tables are lost'
  return new StoreUnusable(`${from} ${what}: there is nothing in it that can be salvaged. Nothing was changed.`, {
    path: from,
  })
}

function bringOver(found: Readable, target: Database): Salvaged {
  const write = conversationImporter(target)
  const { losses } = found
  let conversations = 0
  let events = 0
  for (const [row, list] of found.events) {
    const conversation = found.conversations.get(row)
    const project = conversation && (found.projects.get(conversation.project) ?? projectIn(conversation.info))
    if (!conversation || project === undefined) {
      losses.push(`${list.length} events of a conversation whose own row is lost`)
      continue
    }
    const linesOf = archivist({
      laneOf: lane => found.lanes.get(lane),
      sumsBefore: () => noSums,
      blobOf: digest => found.blobs.get(digest),
    })
    const { kept, leftOut } = onePerVersion(list)
    for (const { row } of leftOut)
      losses.push(`conversation ${conversation.id}: ${row[7] ?? row[1]}, because another has its version ${row[0]}`)
    const damaged = new Set(kept.filter(one => one.damaged).map(one => one.row[0]))
    const heading: ArchiveLine = {
      colloquy: 'archive',
      format: 1,
      project,
      conversationId: conversation.id,
      events: kept.length,
    }
    try {
      const lines = rechained([heading, ...kept.flatMap(one => [...linesOf(one.row)])])
      const info = parsedOr(conversation.info, () => nameless({ project, conversationId: conversation.id }))
      write({ project, lines, now: Date.now(), strict: false, damaged, info })
      conversations++
      events += kept.length
      if (damaged.size > 0) losses.push(`conversation ${conversation.id}: ${damaged.size} damaged events, kept as such`)
    } catch (error) {
      // What is wrong with the new file is no loss of the old one.
      if (isOfThePlace(asStoreError(error, target.path))) throw error
      losses.push(`conversation ${conversation.id}: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  losses.push(...putRecords(target, found, Date.now()))
  return { conversations, events, losses }
}

function isOfThePlace(error: unknown): boolean {
  return error instanceof StoreFull || error instanceof StoreReadOnly
}

/** Makes hashes that could not be read anew, as they were made when it was written. */
function rechained(lines: readonly ArchiveLine[]): ArchiveLine[] {
  let before: ArchivedEvent | undefined
  return lines.map(line => {
    if (!('version' in line)) return line
    before = line.hash === '' && before?.version === line.version - 1 ? withHashes(line, before) : line
    return before
  })
}

function withHashes(line: ArchivedEvent, before: ArchivedEvent): ArchivedEvent {
  if (line.salt === null || line.body === null) return line
  const digest = digestOf(Buffer.from(line.salt, 'base64'), line.body)
  const hash = hashOf(Buffer.from(before.hash, 'base64'), headerOf(line), digest)
  return { ...line, digest: digest.toString('base64'), hash: hash.toString('base64') }
}

/** The head of a conversation says its project again. */
function projectIn(info: string): string | undefined {
  const { project } = parsedOr<{ project?: unknown }>(info, () => ({}))
  return typeof project === 'string' && !idProblem(project) ? project : undefined
}

/**
 * In order; of two rows that claim a version, the undamaged one, or else the first: it is the one with its hashes. The
 * other was left out where it is no copy of it.
 */
function onePerVersion(list: readonly SalvagedRow[]): { kept: SalvagedRow[]; leftOut: SalvagedRow[] } {
  const byVersion = new Map<number, SalvagedRow>()
  const leftOut: SalvagedRow[] = []
  for (const one of list) {
    const rival = byVersion.get(one.row[0])
    if (!rival || (rival.damaged && !one.damaged)) byVersion.set(one.row[0], one)
    else if (!rival.damaged && !one.damaged && isAnother(one, rival)) leftOut.push(one)
  }
  return { kept: [...byVersion.values()].sort((a, b) => a.row[0] - b.row[0]), leftOut }
}

/** Not one that was met twice. Its hash may have been out of reach. */
function isAnother(one: SalvagedRow, other: SalvagedRow): boolean {
  const [hash, otherHash] = [one.row[16], other.row[16]].map(bytes => (bytes instanceof Uint8Array ? bytes : []))
  return hash!.length > 0 && otherHash!.length > 0 && Buffer.compare(Buffer.from(hash!), Buffer.from(otherHash!)) !== 0
}
