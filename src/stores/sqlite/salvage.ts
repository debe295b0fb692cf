/**
 * Rescues what can be read of a damaged file into a new one. The damaged file is not touched.
 *
 * Rows are read in order of position; where the file cannot be read, reading starts again behind the hole. A
 * conversation that lost rows is rescued with what is left of it, and `verify` on the new file names the gaps. Where the
 * first page keeps SQLite from reading the others, a private copy is read whose first page is made anew. Rows that nothing
 * leads to any more are looked for in all pages.
 */
import { chmodSync, constants, copyFileSync, existsSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { StoreDamaged, StoreUnusable } from '../../errors.ts'
import { type Audience, audienceOfKey } from '../../events/audience.ts'
import type { ArchivedEvent, ArchiveLine } from '../../log/archive.ts'
import { headerOf } from '../../log/archive-check.ts'
import { type ArchiveRow, archiveColumns, archiveColumnsWithoutHashes, archivist } from '../../log/archived-rows.ts'
import { nameless, parsedOr } from '../../log/fold.ts'
import { type LaneKind, noSums } from '../../log/lane.ts'
import { makeFolder } from '../../log/make-folder.ts'
import { digestOf, hashOf } from '../../log/record.ts'
import { conversationImporter } from './beside/import.ts'
import { type Database, openDatabase } from './database.ts'
import { asStoreError, isBroken, sqliteCode } from './errors.ts'
import { hasSoundHeader, isShorterThanAPage, mendFirstPage } from './first-page.ts'
import { isAsWritten, lostRows } from './lost-rows.ts'
import { migrate } from './migrate.ts'

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
  if (existsSync(to)) throw new StoreUnusable(`${to} exists already; salvage writes a new file.`, { path: to })
  const rows = readableAnyhow(from, to)
  let target: Database | undefined
  try {
    target = openDatabase({ path: to, durability: 'full' })
    migrate(target, 0)
    return bringOver(rows, target)
  } catch (error) {
    throw asStoreError(error, to)
  } finally {
    target?.close()
  }
}

function readableAnyhow(from: string, to: string): Readable {
  const rows = readableIn(from)
  if (rows && (isWhole(rows) || hasSoundHeader(from))) return rows
  try {
    return readableInCopy(from, to)
  } catch (error) {
    if (rows) return rows
    throw error
  }
}

/** Undefined where the file's first page keeps SQLite from reading the others. */
function readableIn(from: string): Readable | undefined {
  if (isShorterThanAPage(from)) return undefined
  const source = openedIfSound(from)
  if (!source) return undefined
  try {
    if (tablesIn(source).length < Object.keys(tables).length) return undefined
    return readable(source)
  } finally {
    source.close()
  }
}

/** With a first page made anew. Beside the new file, where there must be room for as much anyway. */
function readableInCopy(from: string, to: string): Readable {
  const { folder, copy } = copyOf(from, to)
  let source: Database | undefined
  try {
    mendFirstPage(copy)
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
  let folder: string | undefined
  try {
    makeFolder(dirname(to))
    folder = mkdtempSync(`${to}-salvage-`)
    const copy = join(folder, 'colloquy.db')
    for (const suffix of ['', '-wal']) {
      if (suffix !== '' && !existsSync(from + suffix)) continue
      copyFileSync(from + suffix, copy + suffix, constants.COPYFILE_FICLONE)
      chmodSync(copy + suffix, 0o600)
    }
    return { folder, copy }
  } catch (error) {
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
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

/** What is read, by table: its key first. */
const tables = {
  projects: ['project', 'project, id'],
  conversations: ['conversation', 'conversation, id, project, info'],
  lanes: ['lane', 'lane, conversation, audience_key, kind'],
  blobs: ['blob', 'blob, digest, json'],
  events: ['position', `e.position, e.conversation, e.crc, ${archiveColumns}`],
} as const

type TableName = keyof typeof tables

function tablesIn(source: Database): TableName[] {
  return (Object.keys(tables) as TableName[]).filter(name => {
    try {
      source.prepare(`select ${tables[name][1]} from ${name} e limit 0`).all()
      return true
    } catch (error) {
      if (sqliteCode(error) === undefined) throw error
      return false
    }
  })
}

/** A row, and whether it is still what was written. A damaged one is kept in its place, but stays marked as damaged. */
interface SalvagedRow {
  row: ArchiveRow
  damaged: boolean
}

interface Readable {
  projects: Map<number, string>
  conversations: Map<number, { id: string; project: number; info: string }>
  lanes: Map<number, { conversation: number; audienceKey: string; kind: LaneKind; audience: Audience }>
  blobs: Map<string, string>
  events: Map<number, SalvagedRow[]>
  losses: string[]
}

function isWhole({ events, losses }: Readable): boolean {
  return losses.length === 0 && ![...events.values()].some(list => list.some(one => one.damaged))
}

function readable(source: Database): Readable {
  const losses: string[] = []
  const table = <R extends unknown[]>(name: TableName): R[] => scan<R>(source, name, losses)
  // The index over their ids holds all there is of projects.
  const projects = new Map([
    ...inOrderOf<[number, string]>(
      source,
      'select project, id from projects indexed by sqlite_autoindex_projects_1 order by id',
    ),
    ...table<[number, string]>('projects'),
  ])
  // Of conversations it holds what they are called; the rest is folded from their events.
  const conversations: Readable['conversations'] = new Map(
    inOrderOf<[number, string, number]>(
      source,
      'select conversation, id, project from conversations indexed by sqlite_autoindex_conversations_1 order by project, id',
    ).map(([conversation, id, project]) => [conversation, { id, project, info: '' }]),
  )
  for (const [conversation, id, project, info] of table<[number, string, number, string]>('conversations')) {
    conversations.set(conversation, { id, project, info })
  }
  const lanes: Readable['lanes'] = new Map()
  for (const [lane, conversation, audienceKey, kind] of table<[number, number, string, LaneKind]>('lanes')) {
    const audience = audienceOfKey(audienceKey)
    if (audience) lanes.set(lane, { conversation, audienceKey, kind, audience })
  }
  const blobs = new Map(
    table<[number, string, Uint8Array]>('blobs').map(([, digest, json]) => [
      digest,
      Buffer.from(json).toString('utf8'),
    ]),
  )
  const events = new Map<number, SalvagedRow[]>()
  const rows = table<[number, number, number, ...ArchiveRow]>('events')
  const places = placesIn(source)
  // The hashes stand at the end of a row, and may be out of reach where the rest is not.
  for (const columns of [archiveColumns, archiveColumnsWithoutHashes]) {
    const sql = `select e.position, e.conversation, e.crc, ${columns} from events e where e.position = ?`
    rows.push(...foundByIndex(source, rows.filter(isWhereItShould), sql))
  }
  if (losses.length > 0) takeLost()
  for (const [position, ownConversation, crc, ...own] of rows) {
    const placed = asPlaced(own, places.get(position))
    const row = !isAsWritten(own, crc) && isAsWritten(placed, crc) ? placed : own
    const damaged = !isAsWritten(row, crc)
    // A checksum covers the lane, but not the conversation.
    const conversation = (!damaged && row[8] !== null && lanes.get(row[8])?.conversation) || ownConversation
    const list = events.get(conversation) ?? []
    list.push({ row, damaged })
    events.set(conversation, list)
  }
  return { projects, conversations, lanes, blobs, events, losses }

  /** What nothing in the file leads to any more. */
  function takeLost(): void {
    // What is in the log is newer than these pages: they may hold what was removed since.
    if ((statSync(`${source.path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0) return
    const known = new Set(rows.filter(isWhereItShould).map(([position]) => position))
    for (const lost of lostRows(source.path, position => known.has(position))) {
      switch (lost.table) {
        case 'events':
          rows.push(lost.row)
          break
        case 'conversations':
          if (!conversations.get(lost.id)?.info) conversations.set(lost.id, lost.row)
          break
        case 'lanes':
          if (!lanes.has(lost.id)) lanes.set(lost.id, lost.row)
          break
        case 'blobs':
          if (!blobs.has(lost.digest)) blobs.set(lost.digest, lost.json)
          break
        default:
          lost satisfies never
      }
    }
  }

  /** In a damaged tree a row may be met under the number of another. */
  function isWhereItShould([position, , crc, ...row]: [number, number, number, ...ArchiveRow]): boolean {
    const place = places.get(position)
    return isAsWritten(row, crc) && (!place || (row[8] === place[0] && row[0] === place[1]))
  }
}

type Place = [lane: number, version: number]

/** Where messages stand, by the position of their rows: it says again what a row says of that. */
function placesIn(source: Database): Map<number, Place> {
  const places = new Map<number, Place>()
  for (const table of ['places', 'recent']) {
    const sql = `select position, lane, version from ${table}`
    for (const [position, ...place] of inOrderOf<[number, ...Place]>(source, sql)) places.set(position, place)
  }
  return places
}

function asPlaced(row: ArchiveRow, place: Place | undefined): ArchiveRow {
  if (!place) return row
  const placed: ArchiveRow = [...row]
  placed[8] = place[0]
  placed[0] = place[1]
  return placed
}

/** Reads a table by key; after an unreadable place it goes on behind it, in growing steps, and fills in what it passed. */
function scan<R extends unknown[]>(source: Database, name: TableName, losses: string[]): R[] {
  const [key, columns] = tables[name]
  const after = source.prepare(`select ${columns} from ${name} e where ${key} > ? order by ${key} limit 1`)
  const before = source.prepare(
    `select ${columns} from ${name} e where ${key} > ? and ${key} < ? order by ${key} desc limit 1`,
  )
  const rows: R[] = []
  let last = 0
  /** The last key before the hole that is being crossed. */
  let edge: number | undefined
  let step = 1
  let failures = 0
  let inARow = 0
  for (;;) {
    try {
      const row = after.get(last) as R | undefined
      if (!row) break
      const found = row[0] as number
      // In a damaged tree what comes next may lie before: going on from there would go round in circles.
      if (found <= last) throw new StoreDamaged('keys out of order')
      if (edge !== undefined) rows.push(...passedOver(edge, found))
      rows.push(row)
      last = found
      edge = undefined
      step = 1
      inARow = 0
    } catch (error) {
      if (sqliteCode(error) === undefined && !(error instanceof StoreDamaged)) throw error
      failures++
      edge ??= last
      last += step
      // A large hole is crossed in steps that grow with it. Beyond the last row every step fails when the end is gone.
      step = Math.min(step * 2, Math.max(64, inARow))
      if (++inARow > 10_000) break
    }
  }
  if (failures > 0) losses.push(`parts of the table ${name} could not be read`)
  return rows

  /** Backwards from behind the hole to its end. */
  function passedOver(from: number, to: number): R[] {
    const passed: R[] = []
    try {
      for (let end = to; ; ) {
        const row = before.get(from, end) as R | undefined
        if (!row || (row[0] as number) >= end) return passed
        passed.unshift(row)
        end = row[0] as number
      }
    } catch (error) {
      if (sqliteCode(error) === undefined) throw error
      return passed
    }
  }
}

/** Rows that the table's own order does not lead to any more, but an index or the list of places does. */
function foundByIndex<R extends unknown[]>(source: Database, known: readonly R[], sql: string): R[] {
  const missing = new Set<number>()
  for (const one of [
    'places',
    'recent',
    'events indexed by facts_by_version where lane is null order by conversation, version',
    // The indexes of schema 1.
    'events indexed by events_by_version order by conversation, version',
    'events indexed by events_by_lane where lane is not null order by lane, version',
  ]) {
    for (const [position] of inOrderOf<[number]>(source, `select position from ${one}`)) missing.add(position)
  }
  for (const [position] of known) missing.delete(position as number)
  const one = source.prepare(sql)
  const rows: R[] = []
  for (const position of missing) {
    try {
      const row = one.get(position) as R | undefined
      if (row) rows.push(row)
    } catch (error) {
      if (sqliteCode(error) === undefined) throw error
    }
  }
  return rows
}

/** As many rows of a query as can be read. */
function inOrderOf<R extends unknown[]>(source: Database, sql: string): R[] {
  const rows: R[] = []
  try {
    for (const row of source.prepare(sql).iterate()) rows.push(row as R)
  } catch (error) {
    if (sqliteCode(error) === undefined) throw error
  }
  return rows
}

function bringOver(found: Readable, target: Database): Salvaged {
  const write = conversationImporter(target)
  const { losses } = found
  let conversations = 0
  let events = 0
  for (const [row, list] of found.events) {
    const conversation = found.conversations.get(row)
    const project = conversation && found.projects.get(conversation.project)
    if (!conversation || project === undefined) {
      losses.push(`${list.length} events of a conversation whose own row is lost`)
      continue
    }
    const linesOf = archivist({
      laneOf: lane => found.lanes.get(lane),
      sumsBefore: () => noSums,
      blobOf: digest => found.blobs.get(digest),
    })
    const kept = onePerVersion(list)
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
      losses.push(`conversation ${conversation.id}: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  return { conversations, events, losses }
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

/** In order; of two rows that claim a version, the undamaged one. */
function onePerVersion(list: readonly SalvagedRow[]): SalvagedRow[] {
  const byVersion = new Map<number, SalvagedRow>()
  for (const one of list) {
    const rival = byVersion.get(one.row[0])
    if (!rival || rival.damaged) byVersion.set(one.row[0], one)
  }
  return [...byVersion.values()].sort((a, b) => a.row[0] - b.row[0])
}
