/**
 * Copies the rows of a damaged store into a new one, table by table. Rows keep their numbers and hashes, so `verify` on
 * the new file finds what is missing.
 *
 * Leases and nodes are not copied: processes claim and register again.
 */
import { audienceOfKey, isAudienceOf } from '../../../log/events/audience.ts'
import { idProblem } from '../../../log/events/id.ts'
import { workItemKey } from '../../../log/events/work-item.ts'
import { nameless, parsedOr } from '../../../log/fold.ts'
import { blobsIn } from '../../../log/records/record.ts'
import { type ChecksumInput, checksum, isIntact } from '../../../log/records/stored-row.ts'
import { laneInBody } from '../../../log/upkeep/export.ts'
import type { Database } from '../database.ts'
import type { Value } from '../statement.ts'
import { type Gap, type OrderedQuery, orderedRows, type Row, rowsByNumber } from './readable-rows.ts'
import { type Fields, tableWriter } from './table-writer.ts'

interface Rescue {
  /** The readable rows of a table, by its row number. Reports the others. */
  rows(table: string): Iterable<Fields>
  /** The readable rows of an index, or of a table without row numbers. */
  ordered(table: string, query: OrderedQuery): { rows: Row[]; isWhole: boolean }
  put(table: string, row: Fields): boolean
  losses: string[]
}

/**
 * @param unreadable tables whose rows SQLite would take for something else
 * @returns the losses, in words
 */
export function rescueTables(source: Database, target: Database, unreadable: readonly string[]): string[] {
  const writer = tableWriter(target)
  const losses = unreadable.map(table => `the table ${table} is not defined as it was made; its rows were not read`)
  const rescue: Rescue = {
    *rows(table) {
      if (unreadable.includes(table)) return
      const columns = writer.columnsOf(table)
      const gaps: Gap[] = []
      for (const row of rowsByNumber(source, table, gaps)) yield fieldsOf(columns, row)
      if (gaps.length > 0) losses.push(`${gaps.map(gapText).join(', ')} of the table ${table} could not be read`)
    },
    ordered(table, query) {
      return unreadable.includes(table) ? { rows: [], isWhole: true } : orderedRows(source, table, query)
    },
    put: writer.put,
    losses,
  }
  rescueConversations(rescue, rescueProjects(rescue))
  const lanes = rescueLanes(rescue)
  for (const row of rescue.rows('blobs')) rescue.put('blobs', row)
  rescueEvents(rescue, lanes)
  for (const table of ['sessions', 'purges']) for (const row of rescue.rows(table)) rescue.put(table, row)
  rescueKeys(rescue, writer.columnsOf('keys'))
  writer.commit()
  removeEmptyConversations(target, losses)
  completeTables(target, rescue)
  return [...losses, ...writer.refusals()]
}

function fieldsOf(columns: readonly string[], row: Row): Fields {
  return Object.fromEntries(columns.map((column, index) => [column, row[index]!]))
}

function gapText([from, to]: Gap): string {
  return from === to ? `row ${from}` : `rows ${from} to ${to}`
}

/** Names of projects by number. The index over the names holds them too. */
function rescueProjects({ rows, ordered, put }: Rescue): Map<number, string> {
  const projects = new Map<number, string>()
  const names = { columns: ['project', 'id'], order: ['id'], index: 'sqlite_autoindex_projects_1' }
  const take = (row: Fields) => {
    if (put('projects', row)) projects.set(row.project as number, row.id as string)
  }
  for (const row of rows('projects')) take(row)
  for (const [project, id] of ordered('projects', names).rows) {
    if (!projects.has(project as number)) take({ project: project!, id: id!, created_at: Date.now() })
  }
  return projects
}

/** A conversation has its id in its row, in an index and in its head: two of them decide. */
function rescueConversations({ rows, ordered, put }: Rescue, projects: Map<number, string>): void {
  const { rows: indexed } = ordered('conversations', {
    columns: ['conversation', 'project', 'id'],
    order: ['project', 'id'],
    index: 'sqlite_autoindex_conversations_1',
  })
  const entries = new Map(indexed.map(([number, ...entry]) => [number, entry]))
  for (const row of rows('conversations')) {
    const info = parsedOr<{ id?: unknown; project?: unknown }>(String(row.info), () => ({}))
    const indexedId = entries.get(row.conversation)?.[1]
    if (indexedId !== undefined && indexedId === info.id) row.id = indexedId
    row.project = projectOf(row.project!, info.project)
    if (put('conversations', row)) entries.delete(row.conversation)
  }
  for (const [conversation, [project, id]] of entries) {
    const info = nameless({ project: projects.get(project as number) ?? '', conversationId: String(id) })
    put('conversations', {
      conversation: conversation!,
      project: project!,
      id: id!,
      work_key: workItemKey(info.workItem),
      work_type: info.workItem.type,
      status: info.status,
      created_at: 0,
      recent_at: 0,
      info: JSON.stringify(info),
    })
  }

  /** The head of a conversation names its project, for when the project's own row is lost. */
  function projectOf(project: Value, name: unknown): Value {
    if (projects.has(project as number) || typeof name !== 'string' || idProblem(name)) return project
    for (const [number, id] of projects) if (id === name) return number
    if (put('projects', { project, id: name, created_at: Date.now() })) projects.set(project as number, name)
    return project
  }
}

interface RescuedLane {
  lane: Value
  conversation: Value
}

/** The lanes of the new store, by their number and by their meaning. */
type Lanes = Map<Value, RescuedLane>

function rescueLanes({ rows, put }: Rescue): Lanes {
  const lanes: Lanes = new Map()
  for (const row of rows('lanes')) {
    const audience = audienceOfKey(String(row.audience_key))
    if (!audience) continue
    if (!isAudienceOf(String(row.audience), String(row.audience_key))) row.audience = JSON.stringify(audience)
    if (put('lanes', row)) addLane(lanes, row)
  }
  return lanes
}

function addLane(lanes: Lanes, row: Fields): void {
  const lane: RescuedLane = { lane: row.lane!, conversation: row.conversation! }
  lanes.set(lane.lane, lane)
  lanes.set(laneMeaning(row), lane)
}

function laneMeaning({ conversation, audience_key, kind }: Fields): string {
  return JSON.stringify([conversation, audience_key, kind])
}

/** An event whose lane and row name different conversations is left out. */
function rescueEvents(rescue: Rescue, lanes: Lanes): void {
  const damaged: Fields[] = []
  let misplaced = 0
  for (const row of rescue.rows('events')) {
    const event = row as Fields & ChecksumInput & { crc: number }
    if (!isIntact(event)) damaged.push(row)
    else if (event.lane === null) rescue.put('events', event)
    else if (!lanes.has(event.lane)) putWithLane(rescue, lanes, event)
    else if (lanes.get(event.lane)!.conversation === row.conversation) rescue.put('events', event)
    else misplaced++
  }
  // Damaged events come last: an intact one may have the same version. Their checksums go on saying that they are damaged.
  for (const row of damaged) {
    const isInLane = row.lane !== null && lanes.get(row.lane!)?.conversation === row.conversation
    rescue.put('events', isInLane ? row : { ...row, lane: null })
  }
  if (misplaced > 0) rescue.losses.push(`${misplaced} messages belong to one conversation, and their lane to another`)
}

/** Puts a message whose lane was lost. Its body says what the lane is. */
function putWithLane({ put }: Rescue, lanes: Lanes, event: Fields & ChecksumInput): void {
  const { audienceKey, kind, audience } = laneInBody({ ...event, schema: Number(event.schema) })
  const row = {
    lane: event.lane,
    conversation: event.conversation!,
    audience_key: audienceKey,
    kind,
    audience: JSON.stringify(audience),
  }
  if (!lanes.has(laneMeaning(row)) && put('lanes', row)) addLane(lanes, row)
  const lane = lanes.get(laneMeaning(row))?.lane as number | undefined
  put('events', lane === undefined ? event : { ...event, lane, crc: checksum({ ...event, lane }) })
}

/** Their table has no row numbers. */
function rescueKeys({ ordered, put, losses }: Rescue, columns: readonly string[]): void {
  const { rows, isWhole } = ordered('keys', { columns, order: ['project', 'key'] })
  for (const row of rows) put('keys', fieldsOf(columns, row))
  if (!isWhole) losses.push('parts of the table keys could not be read')
}

/** A conversation without events would keep its work item from getting another. */
function removeEmptyConversations(target: Database, losses: string[]): void {
  const isEmpty = 'conversation not in (select conversation from events)'
  for (const [id] of target.prepare(`select id from conversations where ${isEmpty}`).all() as Array<[string]>) {
    losses.push(`conversation ${id}: none of its events could be read`)
  }
  for (const table of ['sessions', 'lanes', 'conversations']) target.exec(`delete from ${table} where ${isEmpty}`)
}

/** Fills in what follows from other tables. */
function completeTables(target: Database, { ordered }: Rescue): void {
  target.exec(`
    update conversations set created_at = first, recent_at = last
    from (select conversation as number, min(at) as first, max(at) as last from events group by conversation)
    where created_at = 0 and number = conversation`)
  // Positions are dense, but for purged events.
  const { rows: meta } = ordered('meta', { columns: ['name', 'value'], order: ['name'] })
  const floor = meta.find(([name]) => name === 'position_floor')?.[1]
  target
    .prepare(`
      update meta set value = max(?, (select count(*) from events) + (select coalesce(sum(events), 0) from purges))
      where name = 'position_floor'`)
    .run(Number(floor) || 0)
  restoreBlobUses(target)
}

/** Notes again which blobs the events use, so that none is removed with another event. */
function restoreBlobUses(target: Database): void {
  const insert = target.prepare(`
    insert or ignore into blob_uses (blob, position)
    select b.blob, ?1 from blobs b join conversations c using (project) where c.conversation = ?2 and b.digest = ?3`)
  const events = target.prepare(`select position, conversation, body from events where body like '%"blobs":[[%'`).all()
  for (const [position, conversation, body] of events as Array<[number, number, string]>) {
    for (const digest of blobsIn(body)) insert.run(position, conversation, digest)
  }
}
