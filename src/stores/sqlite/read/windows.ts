/** Messages as a viewer sees them, and how much there is of them. */

import { ownCopy } from '../../../log/freeze.ts'
import { addSums, type LaneSums, largestSum, noSums, subtractSums } from '../../../log/records/lane.ts'
import { type LoadBlob, packedSchema, unpackedMessage } from '../../../log/records/record.ts'
import { eventIn, isIntact } from '../../../log/records/stored-row.ts'
import { isoTime } from '../../../log/time.ts'
import { type Message, messageOf } from '../../../log/views/message.ts'
import type { Page, Window } from '../../../log/windows.ts'
import type { Database } from '../database.ts'
import type { HeadStore, SeenLane } from '../heads.ts'
import { blobLoader } from '../rows.ts'
import { KnownMessages, type LaneReader, type ReadMessage, type Stretch } from './known-messages.ts'
import { standing } from './places.ts'

/** More than there are of a message's schema; a higher number is damage, and the checksum says so. */
const schemas = 256

/** Longer pages are read once, as a rule: to show or to export them. */
const mostCopied = 200

/** Looking at what is kept of more lanes than that takes longer than finding the few that matter. */
const mostKnown = 256

/** The version of a place and what the row at its position holds: nothing where the row is gone. */
type MessageRow = [version: number, at: number, message: string, checkAndSchema: number | null, body: string | null]

type RowOf<R> = R extends [number, ...infer Rest] ? Rest : never
const goneRow: RowOf<MessageRow> = [0, '', null, null]

type Place = [version: number, lane: number, position: number]
type PlaceWithSums = [...Place, messages: number, tokens: number, input: number, output: number]

/** As few as will do: handing values over from SQLite costs more than finding their row. So two of them go as one. */
const messageColumns = `e.at, e.message, e.crc * ${schemas} + e.schema, e.body`

export function windowReader({ database, heads }: { database: Database; heads: HeadStore }) {
  const places = (direction: 'asc' | 'desc') =>
    `${standing('lane, position', { where: 'lane = ?1 and version > ?2 and version < ?3', direction })} limit ?4`
  const newestIn = (table: 'places' | 'recent') => `
    select p.version, ${messageColumns} from ${table} p left join events e on e.position = p.position
    where p.lane = ? and p.version > ? and p.version < ? order by p.version desc limit ?`
  const digestIn = (table: 'places' | 'recent') => `
    select count(*), coalesce(sum(e.crc), 0) from ${table} p left join events e on e.position = p.position
    where p.lane = ? and p.version between ? and ?`
  const keptIn = (table: string) => `
    select p.version, p.lane, p.position, p.messages,
      min(p.tokens, ${largestSum}), min(p.input, ${largestSum}), min(p.output, ${largestSum})
    from json_each(?1) v cross join json_each(?2) l cross join ${table} p on p.lane = l.value and p.version = v.value`
  const firstIn = (table: 'places' | 'recent', direction: 'asc' | 'desc') => `
    (select version from ${table} where lane = l.value and version > ?2 and version < ?3
      order by version ${direction} limit 1)`
  const sql = {
    newestOfEach: database.prepare(
      `select l.value, coalesce(${firstIn('recent', 'desc')}, ${firstIn('places', 'desc')}) from json_each(?1) l`,
    ),
    oldestOfEach: database.prepare(
      `select l.value, coalesce(${firstIn('places', 'asc')}, ${firstIn('recent', 'asc')}) from json_each(?1) l`,
    ),
    anyRecent: database.prepare('select 1 from recent limit 1'),
    newestRecent: database.prepare(newestIn('recent')),
    newestPlaced: database.prepare(newestIn('places')),
    digestRecent: database.prepare(digestIn('recent')),
    digestPlaced: database.prepare(digestIn('places')),
    oldest: database.prepare(`
      select place.version, ${messageColumns} from (${places('asc')}) place
      left join events e on e.position = place.position order by place.version`),
    newestPlaces: database.prepare(places('desc')),
    oldestPlaces: database.prepare(places('asc')),
    atPosition: database.prepare(`select ${messageColumns} from events e where e.position = ?`),
    kept: database.prepare(`${keptIn('places')} union all ${keptIn('recent')} order by 1`),
    atPlace: database.prepare(`
      select e.version, ${messageColumns}, e.lane, c.id from events e join conversations c using (conversation)
      where e.position = ? and e.message = ? and c.project = ?`),
  }
  const blobs = blobLoader(database)
  const known = new KnownMessages()
  let wasRecent = false

  function messages(window: Window, { before: asked, after, limit, shared = false }: Page): Message[] {
    const before = Math.min(asked ?? Number.MAX_SAFE_INTEGER, endOf(window) + 1)
    const conversation = heads.conversationRow(window.project, window.conversationId)
    if (conversation === undefined || limit <= 0) return []
    const load: LoadBlob = digest => blobs(heads.projectRow(window.project)!)(digest)
    const lanes = seen(conversation, window)
    const from = Math.max(window.start, after ?? 0)
    const forwards = after !== undefined
    if (!forwards && window.kept.length === 0 && lanes.length > 0) {
      const rows = lanes.map(lane => lane.row)
      const mayKnow = rows.length <= mostKnown && (shared || (limit <= mostCopied && known.wereAsked(rows)))
      const found = mayKnow && known.newest(rows, { from, before, limit }, laneReader(window, load))
      if (found) return shared ? found : found.map(ownCopy)
    }
    const found = lanes.length === 1 ? oneLane(lanes[0]!.row) : manyLanes()
    if (!forwards) found.reverse()
    const kept = keptPlaces(window, lanes)
      .filter(([version]) => version > (after ?? 0) && version < before)
      .map(messageAt)
    if (kept.length === 0) return found
    const all = [...kept, ...found]
    return forwards ? all.slice(0, limit) : all.slice(-limit)

    function oneLane(lane: number): Message[] {
      const rows = forwards
        ? isEmptyBehind(lane, from)
          ? []
          : (sql.oldest.all(lane, from, before, limit) as MessageRow[])
        : newestRows(lane, { from, before, limit })
      return rows.map(row => messageIn(row, lane, window.conversationId, load))
    }

    /** Finds the places alone, merges them, and reads only the bodies that are wanted. */
    function manyLanes(): Message[] {
      const statement = forwards ? sql.oldestPlaces : sql.newestPlaces
      const rows = lanes.map(lane => lane.row)
      const asked = rows.length <= limit ? rows : foremost(rows, { from, before, limit }, forwards)
      const places = asked.flatMap(row => statement.all(row, from, before, limit) as Place[])
      places.sort(forwards ? (a, b) => a[0] - b[0] : (a, b) => b[0] - a[0])
      return places.slice(0, limit).map(messageAt)
    }

    function messageAt([version, lane, position]: Place | PlaceWithSums): Message {
      const row = sql.atPosition.get(position) as RowOf<MessageRow> | undefined
      return messageIn([version, ...(row ?? goneRow)], lane, window.conversationId, load)
    }
  }

  /** Of very many lanes those that come first: what is wanted can be in no more of them than it is. */
  function foremost(lanes: readonly number[], { from, before, limit }: Stretch, forwards: boolean): number[] {
    const statement = forwards ? sql.oldestOfEach : sql.newestOfEach
    const found = statement.all(JSON.stringify(lanes), from, before) as Array<[number, number | null]>
    return found
      .filter((one): one is [number, number] => one[1] !== null)
      .sort(([, a], [, b]) => (forwards ? a - b : b - a))
      .slice(0, limit)
      .map(([lane]) => lane)
  }

  /** Whether it is known without asking that a lane has nothing after a version. */
  function isEmptyBehind(lane: number, version: number): boolean {
    const newest = heads.newestKnown(lane)
    return newest !== undefined && newest <= version
  }

  /** A file that was closed has nothing there: who opens it to ask one thing need not compile that question. */
  function mayBeRecent(): boolean {
    wasRecent ||= sql.anyRecent.get() !== undefined
    return wasRecent
  }

  /**
   * In two questions, because merging the two tables costs more than asking an empty one. What another process moves
   * between them is not seen twice, because the second asks for what comes before the first's, and not missed, because
   * it moves towards the second.
   */
  function newestRows(lane: number, { from, before, limit }: Stretch): MessageRow[] {
    if (isEmptyBehind(lane, from)) return []
    const rows = mayBeRecent() ? (sql.newestRecent.all(lane, from, before, limit) as MessageRow[]) : []
    if (rows.length === limit) return rows
    const older = sql.newestPlaced.all(lane, from, rows.at(-1)?.[0] ?? before, limit - rows.length) as MessageRow[]
    return rows.length === 0 ? older : [...rows, ...older]
  }

  function laneReader({ conversationId }: Window, load: LoadBlob): LaneReader {
    return {
      generation: heads.generation,
      rows: (lane, stretch) =>
        newestRows(lane, stretch).map((row): ReadMessage => {
          const [, , , checkAndSchema, body] = row
          return {
            message: messageIn(row, lane, conversationId, load),
            crc: Math.floor((checkAndSchema ?? 0) / schemas),
            size: body?.length ?? 0,
          }
        }),
      versions: (lane, { from, before, limit }) =>
        (sql.newestPlaces.all(lane, from, before, limit) as Place[]).map(([version]) => version),
      digest(lane, first, last) {
        const [messages, crc] = sql.digestPlaced.get(lane, first, last) as [number, number]
        const [more, moreCrc] = sql.digestRecent.get(lane, first, last) as [number, number]
        return { messages: messages + more, crc: crc + moreCrc }
      },
    }
  }

  /**
   * Messages that a reset kept although they stand before the window. Their lanes say who sees them and of which kind they
   * are, as for all others.
   */
  function keptPlaces(window: Window, lanes: readonly SeenLane[]): PlaceWithSums[] {
    if (window.kept.length === 0) return []
    return sql.kept.all(JSON.stringify(window.kept), JSON.stringify(lanes.map(lane => lane.row))) as PlaceWithSums[]
  }

  function measure(window: Window): LaneSums & { lastActiveAt: string | undefined } {
    const conversation = heads.conversationRow(window.project, window.conversationId)
    let total = noSums
    let last = 0
    if (conversation === undefined) return { ...total, lastActiveAt: undefined }
    const lanes = seen(conversation, window)
    const end = endOf(window)
    for (const { row } of lanes) {
      const newest = window.end === undefined ? heads.lastSums(row) : heads.sumsUpTo(row, end)
      if (newest.messages === 0) continue
      const start = Math.min(window.start, end)
      total = addSums(total, start > 0 ? subtractSums(newest, heads.sumsUpTo(row, start)) : newest)
      last = Math.max(last, heads.lastAt(row, end) ?? 0)
    }
    for (const [version, lane, , messages, tokens, input, output] of keptPlaces(window, lanes)) {
      if (version > end) continue
      // What one message adds to its lane is the difference to the one before.
      const before = heads.sumsUpTo(lane, version - 1)
      total = addSums(total, subtractSums({ messages, tokens, input, output }, before))
    }
    return { ...total, lastActiveAt: last > 0 ? isoTime(last) : undefined }
  }

  /** The message at a position the index gave. */
  function message(project: string, messageId: string, position: number): Message | undefined {
    const projectRow = heads.projectRow(project)
    if (projectRow === undefined) return undefined
    const found = sql.atPlace.get(position, messageId, projectRow) as [...MessageRow, number, string] | undefined
    if (!found) return undefined
    const [version, at, id, checkAndSchema, body, lane, conversationId] = found
    return messageIn([version, at, id, checkAndSchema, body], lane, conversationId, blobs(projectRow))
  }

  function seen(conversationRow: number, window: Window) {
    return heads.lanesSeen(conversationRow, window.viewer).filter(lane => window.kinds.includes(lane.kind))
  }

  return { messages, measure, message, forget: () => known.clear() }
}

function endOf({ end }: Window): number {
  return Math.min(end ?? Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER - 1)
}

/** Version and lane are the place's, so that the checksum also tells a place that leads to another row than its own. */
function messageIn(row: MessageRow, lane: number, conversationId: string, load: LoadBlob): Message {
  const [version, at, id, checkAndSchema, body] = row
  // A place whose row is gone keeps it, and says that it is damaged.
  if (checkAndSchema === null) return messageIn([version, 0, '', -1, null], lane, conversationId, load)
  const schema = checkAndSchema % schemas
  const crc = (checkAndSchema - schema) / schemas
  const stored = { type: 'message.added', version, at, lane, schema, message: id, crc, body }
  const place = { id, conversationId, version, timestamp: isoTime(at) }
  if (body !== null && schema === packedSchema && isIntact(stored)) {
    try {
      return unpackedMessage(body, place, load)
    } catch {
      // What is wrong with it is said below.
    }
  }
  return messageOf({ conversationId, version, at: place.timestamp, event: eventIn(stored, load) }, id)!
}
