/** Messages as a viewer sees them, and how much there is of them. */
import { addSums, type LaneSums, noSums, subtractSums } from '../../log/lane.ts'
import { packedSchema, unpackedMessage } from '../../log/record.ts'
import { isoTime } from '../../log/time.ts'
import type { Page, Window } from '../../log/windows.ts'
import { type Message, messageOf } from '../../views/message.ts'
import type { Database } from './database.ts'
import type { HeadStore, SeenLane } from './heads.ts'
import { standing } from './places.ts'
import { blobLoader, checksum, eventIn, type LoadBlob } from './rows.ts'

/**
 * A place and what the row at its position holds: nothing where the row is gone. Version and lane are the place's, so that
 * the checksum also tells a place that leads to another row than its own.
 */
type MessageRow = [
  version: number,
  lane: number,
  schema: number | null,
  at: number,
  message: string,
  crc: number,
  body: string | null,
]

type Place = [version: number, lane: number, position: number]
type PlaceWithSums = [...Place, messages: number, tokens: number, input: number, output: number]

/** As few as will do: handing a text over from SQLite costs more than finding its row. */
const messageColumns = 'e.schema, e.at, e.message, e.crc, e.body'

export function windowReader({ database, heads }: { database: Database; heads: HeadStore }) {
  const places = (direction: 'asc' | 'desc') =>
    `${standing('lane, position', { where: 'lane = ?1 and version > ?2 and version < ?3', direction })} limit ?4`
  const page = (direction: 'asc' | 'desc') => `
    select place.version, place.lane, ${messageColumns} from (${places(direction)}) place
    left join events e on e.position = place.position order by place.version ${direction}`
  const keptIn = (table: string) => `
    select p.version, p.lane, p.position, p.messages, p.tokens, p.input, p.output
    from json_each(?1) v cross join json_each(?2) l cross join ${table} p on p.lane = l.value and p.version = v.value`
  const sql = {
    newest: database.prepare(page('desc')),
    oldest: database.prepare(page('asc')),
    newestPlaces: database.prepare(places('desc')),
    oldestPlaces: database.prepare(places('asc')),
    atPosition: database.prepare(`select ${messageColumns} from events e where e.position = ?`),
    kept: database.prepare(`${keptIn('places')} union all ${keptIn('recent')} order by 1`),
    atPlace: database.prepare(`
      select e.version, e.lane, ${messageColumns}, c.id from events e join conversations c using (conversation)
      where e.position = ? and e.message = ? and c.project = ?`),
  }
  const blobs = blobLoader(database)

  function messages(window: Window, { before = Number.MAX_SAFE_INTEGER, after, limit }: Page): Message[] {
    const conversation = heads.conversationRow(window.project, window.conversationId)
    if (conversation === undefined || limit <= 0) return []
    const load: LoadBlob = digest => blobs(heads.projectRow(window.project)!)(digest)
    const lanes = seen(conversation, window)
    const from = Math.max(window.start, after ?? 0)
    const forwards = after !== undefined
    const rows = lanes.length === 1 ? oneLane(lanes[0]!.row) : manyLanes()
    if (!forwards) rows.reverse()
    const found = rows.map(row => messageIn(row, window.conversationId, load))
    const kept = keptPlaces(window, lanes)
      .filter(([version]) => version > (after ?? 0) && version < before)
      .map(place => messageIn(rowAt(place), window.conversationId, load))
    if (kept.length === 0) return found
    const all = [...kept, ...found]
    return forwards ? all.slice(0, limit) : all.slice(-limit)

    function oneLane(lane: number): MessageRow[] {
      return (forwards ? sql.oldest : sql.newest).all(lane, from, before, limit) as MessageRow[]
    }

    /** Finds the places in the index alone, merges them, and reads only the bodies that are wanted. */
    function manyLanes(): MessageRow[] {
      const statement = forwards ? sql.oldestPlaces : sql.newestPlaces
      const places = lanes.flatMap(lane => statement.all(lane.row, from, before, limit) as Place[])
      places.sort(forwards ? (a, b) => a[0] - b[0] : (a, b) => b[0] - a[0])
      return places.slice(0, limit).map(rowAt)
    }
  }

  function rowAt([version, lane, position]: Place | PlaceWithSums): MessageRow {
    const row = sql.atPosition.get(position) as [number, number, string, number, string | null] | undefined
    return row ? [version, lane, ...row] : [version, lane, null, 0, '', -1, null]
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
    for (const { row } of lanes) {
      const newest = heads.lastSums(row)
      if (newest.messages === 0) continue
      total = addSums(total, window.start > 0 ? subtractSums(newest, heads.sumsUpTo(row, window.start)) : newest)
      last = Math.max(last, heads.lastAt(row) ?? 0)
    }
    for (const [version, lane, , messages, tokens, input, output] of keptPlaces(window, lanes)) {
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
    const row = sql.atPlace.get(position, messageId, projectRow) as [...MessageRow, string] | undefined
    return row && messageIn(row.slice(0, -1) as MessageRow, row[row.length - 1] as string, blobs(projectRow))
  }

  function seen(conversationRow: number, window: Window) {
    return heads.lanesSeen(conversationRow, window.viewer).filter(lane => window.kinds.includes(lane.kind))
  }

  return { messages, measure, message }
}

function messageIn(row: MessageRow, conversationId: string, load: LoadBlob): Message {
  const [version, lane, schema, at, id, crc, body] = row
  // A place whose row is gone keeps it, and says that it is damaged.
  if (schema === null) return messageIn([version, lane, 1, 0, '', -1, null], conversationId, load)
  const stored = { type: 'message.added', version, at, lane, schema, message: id, crc, body }
  const place = { id, conversationId, version, timestamp: isoTime(at) }
  if (body !== null && schema === packedSchema && checksum(stored) === crc) {
    try {
      return unpackedMessage(body, place, load)
    } catch {
      // What is wrong with it is said below.
    }
  }
  return messageOf({ conversationId, version, at: place.timestamp, event: eventIn(stored, load) }, id)!
}
