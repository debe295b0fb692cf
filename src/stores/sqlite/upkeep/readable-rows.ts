/**
 * What can be read of a damaged store, and what could not. Rows are read in order of their keys; where that fails, reading
 * goes on behind the hole, and what an index, the list of places or a page alone leads to is looked up there.
 */
import { statSync } from 'node:fs'
import { StoreDamaged } from '../../../errors.ts'
import { type Audience, audienceOfKey } from '../../../log/events/audience.ts'
import { parsedOr } from '../../../log/fold.ts'
import type { LaneKind } from '../../../log/records/lane.ts'
import { type ArchiveRow, archiveColumns, archiveColumnsWithoutHashes } from '../../../log/upkeep/archived-rows.ts'
import type { Database } from '../database.ts'
import { sqliteCode } from '../errors.ts'
import { isAsWritten, lostRows } from './lost-rows.ts'
import { keyColumns, purgeColumns, type RescuedRow } from './rescued-records.ts'

/** What is read, by table: its key first. */
export const tables = {
  projects: ['project', 'project, id'],
  conversations: ['conversation', 'conversation, id, project, info'],
  lanes: ['lane', 'lane, conversation, audience_key, kind'],
  blobs: ['blob', 'blob, digest, json'],
  events: ['position', `e.position, e.conversation, e.crc, ${archiveColumns}`],
  purges: ['purge', `purge, ${purgeColumns}`],
} as const

type TableName = keyof typeof tables

export function tablesIn(source: Database): TableName[] {
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
export interface SalvagedRow {
  row: ArchiveRow
  damaged: boolean
}

export interface Readable {
  projects: Map<number, string>
  conversations: Map<number, { id: string; project: number; info: string }>
  lanes: Map<number, { conversation: number; audienceKey: string; kind: LaneKind; audience: Audience }>
  blobs: Map<string, string>
  events: Map<number, SalvagedRow[]>
  keys: RescuedRow[]
  purges: RescuedRow[]
  losses: string[]
}

export function isWhole({ events, losses }: Readable): boolean {
  return losses.length === 0 && ![...events.values()].some(list => list.some(one => one.damaged))
}

/** A conversation says its id three times: in its row, in the index over them, and in its head. Two of them know it. */
function idBy([own, inIndex, inHead]: readonly [string, string | undefined, unknown]): string {
  return inIndex !== undefined && inIndex === inHead ? inIndex : own
}

function idIn(info: string): unknown {
  return parsedOr<{ id?: unknown }>(info, () => ({})).id
}

export function readable(source: Database): Readable {
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
    const inIndex = conversations.get(conversation)?.id
    conversations.set(conversation, { id: idBy([id, inIndex, idIn(info)]), project, info })
  }
  const lanes: Readable['lanes'] = new Map()
  for (const [lane, conversation, audienceKey, kind] of table<[number, number, string, LaneKind]>('lanes')) {
    // In a damaged row a column may hold anything.
    const audience = audienceOfKey(String(audienceKey))
    if (audience) lanes.set(lane, { conversation, audienceKey, kind, audience })
  }
  const blobs = new Map(
    table<[number, string, Uint8Array]>('blobs').map(([, digest, json]) => [
      digest,
      Buffer.from(json instanceof Uint8Array ? json : '').toString('utf8'),
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
  const keys = keysIn(source, losses)
  const purges = new Map(table<[number, ...RescuedRow]>('purges').map(([purge, ...row]) => [purge, row]))
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
  return { projects, conversations, lanes, blobs, events, keys, purges: inOrder(purges), losses }

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
        case 'purges':
          if (!purges.has(lost.id)) purges.set(lost.id, lost.row)
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

/**
 * Their table has no numbers to go by and no index: it is read from both ends, as far as that goes. Between two damaged
 * places some may be left out.
 */
function keysIn(source: Database, losses: string[]): RescuedRow[] {
  const found = new Map<string, RescuedRow>()
  for (const direction of ['', 'desc']) {
    try {
      const sql = `select ${keyColumns} from keys order by project ${direction}, key ${direction}`
      for (const row of source.prepare(sql).iterate() as Iterable<RescuedRow>) {
        found.set(JSON.stringify(row.slice(0, 2)), row)
      }
      break
    } catch (error) {
      if (sqliteCode(error) === undefined) throw error
      if (direction !== '') losses.push('parts of the table keys could not be read')
    }
  }
  return [...found.values()]
}

function inOrder(rows: ReadonlyMap<number, RescuedRow>): RescuedRow[] {
  return [...rows].sort(([one], [other]) => one - other).map(([, row]) => row)
}

type Place = [lane: number, version: number]

/** Where messages stand, by the position of their rows: it says again what a row says of that. */
function placesIn(source: Database): Map<number, Place> {
  const sql = `
    select position, lane, version from events indexed by events_by_lane
    where lane is not null order by conversation, lane, version`
  return new Map(inOrderOf<[number, ...Place]>(source, sql).map(([position, ...place]) => [position, place]))
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
    'events indexed by events_by_version order by conversation, version',
    'events indexed by events_by_lane order by conversation, lane, version',
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
export function inOrderOf<R extends unknown[]>(source: Database, sql: string): R[] {
  const rows: R[] = []
  try {
    for (const row of source.prepare(sql).iterate()) rows.push(row as R)
  } catch (error) {
    if (sqliteCode(error) === undefined) throw error
  }
  return rows
}
