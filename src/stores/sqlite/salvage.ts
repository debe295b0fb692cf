/**
 * Rescues what can be read of a damaged file into a new one. The damaged file is not touched.
 *
 * Rows are read in order of position; where the file cannot be read, reading starts again behind the hole. A
 * conversation that lost rows is rescued with what is left of it, and `verify` on the new file names the gaps.
 */
import { existsSync } from 'node:fs'
import { StoreUnusable } from '../../errors.ts'
import type { Audience } from '../../events/audience.ts'
import type { ArchiveLine } from '../../log/archive.ts'
import { type LaneKind, noSums } from '../../log/lane.ts'
import { type ArchiveRow, archiveColumns, archivist } from './beside/archived-rows.ts'
import { conversationImporter } from './beside/import.ts'
import { type Database, openDatabase } from './database.ts'
import { asStoreError, sqliteCode } from './errors.ts'
import { migrate } from './migrate.ts'

export interface Salvaged {
  conversations: number
  events: number
  /** What could not be brought over, in words. */
  losses: string[]
}

export async function salvage(from: string, to: string): Promise<Salvaged> {
  if (existsSync(to)) throw new StoreUnusable(`${to} exists already; salvage writes a new file.`, { path: to })
  const source = openDatabase({ path: from, durability: 'full', readOnly: true })
  let target: Database | undefined
  try {
    const rows = readable(source)
    target = openDatabase({ path: to, durability: 'full' })
    migrate(target)
    return bringOver(rows, target)
  } catch (error) {
    throw asStoreError(error, from)
  } finally {
    source.close()
    target?.close()
  }
}

interface Readable {
  projects: Map<number, string>
  conversations: Map<number, { id: string; project: number }>
  lanes: Map<number, { audienceKey: string; kind: LaneKind; audience: Audience }>
  blobs: Map<string, string>
  events: Map<number, ArchiveRow[]>
  losses: string[]
}

function readable(source: Database): Readable {
  const losses: string[] = []
  const table = <R extends unknown[]>(name: string, key: string, columns: string): R[] =>
    scan<R>(source, { name, key, columns }, losses)
  const projects = new Map(table<[number, string]>('projects', 'project', 'project, id'))
  const conversations = new Map(
    table<[number, string, number]>('conversations', 'conversation', 'conversation, id, project').map(
      ([conversation, id, project]) => [conversation, { id, project }],
    ),
  )
  const lanes = new Map(
    table<[number, string, LaneKind, string]>('lanes', 'lane', 'lane, audience_key, kind, audience').map(
      ([lane, audienceKey, kind, audience]) => [
        lane,
        { audienceKey, kind, audience: JSON.parse(audience) as Audience },
      ],
    ),
  )
  const blobs = new Map(
    table<[number, string, Uint8Array]>('blobs', 'blob', 'blob, digest, json').map(([, digest, json]) => [
      digest,
      Buffer.from(json).toString('utf8'),
    ]),
  )
  const events = new Map<number, ArchiveRow[]>()
  const rows = table<[number, number, ...ArchiveRow]>(
    'events e',
    'position',
    `e.position, e.conversation, ${archiveColumns}`,
  )
  for (const [, conversation, ...row] of rows) {
    const list = events.get(conversation) ?? []
    list.push(row)
    events.set(conversation, list)
  }
  return { projects, conversations, lanes, blobs, events, losses }
}

/** Reads a table by key; after an unreadable place it goes on behind it, in growing steps. */
function scan<R extends unknown[]>(
  source: Database,
  { name, key, columns }: { name: string; key: string; columns: string },
  losses: string[],
): R[] {
  const after = source.prepare(`select ${columns} from ${name} where ${key} > ? order by ${key} limit 1`)
  const rows: R[] = []
  let last = 0
  let step = 1
  let failures = 0
  for (;;) {
    try {
      const row = after.get(last) as R | undefined
      if (!row) break
      rows.push(row)
      last = row[0] as number
      step = 1
    } catch (error) {
      if (sqliteCode(error) === undefined) throw error
      last += step
      step = Math.min(step * 2, 64)
      // Beyond the last row every step fails the same way when the tree's root is gone.
      if (++failures > 100_000) break
    }
  }
  if (failures > 0) losses.push(`parts of the table ${name.split(' ')[0]} could not be read`)
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
    list.sort((a, b) => a[0] - b[0])
    const heading: ArchiveLine = {
      colloquy: 'archive',
      format: 1,
      project,
      conversationId: conversation.id,
      events: list.length,
    }
    try {
      write({ project, lines: [heading, ...list.flatMap(one => [...linesOf(one)])], now: Date.now(), strict: false })
      conversations++
      events += list.length
    } catch (error) {
      losses.push(`conversation ${conversation.id}: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  return { conversations, events, losses }
}
