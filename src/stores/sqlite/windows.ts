/** Messages as a viewer sees them, and how much there is of them. */
import { addSums, type LaneSums, noSums, subtractSums } from '../../log/lane.ts'
import { packedSchema, unpackedMessage } from '../../log/record.ts'
import { checksum, eventIn, type LoadBlob } from '../../log/stored-row.ts'
import { isoTime } from '../../log/time.ts'
import type { Page, Window } from '../../log/windows.ts'
import { type Message, messageOf } from '../../views/message.ts'
import type { Database } from './database.ts'
import type { HeadStore } from './heads.ts'
import { blobLoader } from './rows.ts'

type MessageRow = [
  version: number,
  schema: number,
  at: number,
  lane: number,
  message: string,
  crc: number,
  body: string | null,
]

const messageColumns = 'e.version, e.schema, e.at, e.lane, e.message, e.crc, e.body'

type QuickRow = [version: number, at: number, message: string, crc: number, body: string | null]

/**
 * As few as will do: handing a value over from SQLite costs more than finding its row. A message that these do not prove
 * sound, or of another schema, is read again with all there is of it.
 */
const quickColumns = `e.version, e.at, e.message, iif(e.schema = ${packedSchema}, e.crc, -1), e.body`

export function windowReader({ database, heads }: { database: Database; heads: HeadStore }) {
  const page = (columns: string, direction: 'asc' | 'desc') => `
    select ${columns} from events e indexed by events_by_lane
    where e.lane = ? and e.version > ? and e.version < ? order by e.version ${direction} limit ?`
  const sql = {
    newest: database.prepare(page(quickColumns, 'desc')),
    oldest: database.prepare(page(quickColumns, 'asc')),
    newestPlaces: database.prepare(page('e.version, e.position, e.lane', 'desc')),
    oldestPlaces: database.prepare(page('e.version, e.position, e.lane', 'asc')),
    atPosition: database.prepare(`select ${quickColumns} from events e where e.position = ?`),
    inLane: database.prepare(`
      select ${messageColumns} from events e indexed by events_by_lane where e.lane = ? and e.version = ?`),
    atVersion: database.prepare(`
      select ${messageColumns} from events e where e.conversation = ? and e.version = ? and e.lane is not null`),
    sumsAt: database.prepare(`
      select lane, version, messages, tokens, input, output from events where conversation = ? and version = ?`),
    atPlace: database.prepare(`
      select ${messageColumns}, c.id from events e join conversations c using (conversation)
      where e.position = ? and e.message = ? and c.project = ?`),
    lastAt: database.prepare('select at from events where lane = ? and version <= ? order by version desc limit 1'),
  }
  const blobs = blobLoader(database)

  function messages(window: Window, { before: asked, after, limit }: Page): Message[] {
    const before = Math.min(asked ?? Number.MAX_SAFE_INTEGER, endOf(window) + 1)
    const conversation = heads.conversationRow(window.project, window.conversationId)
    if (conversation === undefined || limit <= 0) return []
    const load: LoadBlob = digest => blobs(heads.projectRow(window.project)!)(digest)
    const lanes = seen(conversation, window)
    const from = Math.max(window.start, after ?? 0)
    const forwards = after !== undefined
    const found = lanes.length === 1 ? oneLane(lanes[0]!.row) : manyLanes()
    if (!forwards) found.reverse()
    const kept = keptMessages(conversation, window, new Set(lanes.map(lane => lane.row)), load).filter(
      one => one.version > (after ?? 0) && one.version < before,
    )
    if (kept.length === 0) return found
    const all = [...kept, ...found]
    return forwards ? all.slice(0, limit) : all.slice(-limit)

    function oneLane(lane: number): Message[] {
      const rows = (forwards ? sql.oldest : sql.newest).all(lane, from, before, limit) as QuickRow[]
      return rows.map(row => soundMessage(row, lane, window.conversationId, load) ?? again(row[0], lane))
    }

    /** Finds the places in the index alone, merges them, and reads only the bodies that are wanted. */
    function manyLanes(): Message[] {
      const statement = forwards ? sql.oldestPlaces : sql.newestPlaces
      const places = lanes.flatMap(
        lane =>
          statement.all(lane.row, from, before, limit) as Array<[version: number, position: number, lane: number]>,
      )
      places.sort(forwards ? (a, b) => a[0] - b[0] : (a, b) => b[0] - a[0])
      return places.slice(0, limit).map(([version, position, lane]) => {
        const row = sql.atPosition.get(position) as QuickRow | undefined
        return (row && soundMessage(row, lane, window.conversationId, load)) ?? again(version, lane)
      })
    }

    function again(version: number, lane: number): Message {
      const row = (sql.inLane.get(lane, version) as MessageRow | undefined) ?? lostRow(version)
      return messageIn(row, window.conversationId, load)
    }
  }

  /** Messages that a reset kept although they stand before the window. */
  function keptMessages(
    conversationRow: number,
    window: Window,
    lanes: ReadonlySet<number>,
    load: LoadBlob,
  ): Message[] {
    if (window.kept.length === 0) return []
    const found: Message[] = []
    for (const version of window.kept) {
      const row = sql.atVersion.get(conversationRow, version) as MessageRow | undefined
      // The lane says who sees it and of which kind it is, for these as for all others.
      if (row && lanes.has(row[3])) found.push(messageIn(row, window.conversationId, load))
    }
    return found
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
      const [at] = sql.lastAt.get(row, end) as [number]
      if (at > last) last = at
    }
    const rows = new Set(lanes.map(lane => lane.row))
    for (const version of window.kept) if (version <= end) total = addSums(total, sumsOf(conversation, version, rows))
    return { ...total, lastActiveAt: last > 0 ? isoTime(last) : undefined }
  }

  /** What one message adds to its lane: the difference to the one before. */
  function sumsOf(conversationRow: number, version: number, lanes: ReadonlySet<number>): LaneSums {
    const row = sql.sumsAt.get(conversationRow, version) as [number | null, ...number[]] | undefined
    if (!row || row[0] === null || !lanes.has(row[0])) return noSums
    const [lane, , messages, tokens, input, output] = row as [number, number, number, number, number, number]
    return subtractSums({ messages, tokens, input, output }, heads.sumsUpTo(lane, version - 1))
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

function endOf({ end }: Window): number {
  return Math.min(end ?? Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER - 1)
}

/** The message in a row whose checksum is right; undefined when it is not, or when it was packed another way. */
function soundMessage(row: QuickRow, lane: number, conversationId: string, load: LoadBlob): Message | undefined {
  const [version, at, id, crc, body] = row
  const stored = { type: 'message.added', version, at, lane, message: id, body }
  if (body === null || checksum(stored) !== crc) return undefined
  try {
    return unpackedMessage(body, { id, conversationId, version, timestamp: isoTime(at) }, load)
  } catch {
    return undefined
  }
}

function messageIn(row: MessageRow, conversationId: string, load: LoadBlob): Message {
  const [version, schema, at, lane, id, crc, body] = row
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

/** The index knows a message whose row is gone: it keeps its place, and says that it is damaged. */
function lostRow(version: number): MessageRow {
  return [version, 1, 0, 0, '', -1, null]
}
