/** Messages as a viewer sees them, and how much there is of them. */
import { addSums, type LaneSums, noSums, subtractSums } from '../../../log/records/lane.ts'
import { type LoadBlob, packedSchema, unpackedMessage } from '../../../log/records/record.ts'
import { eventIn, isIntact } from '../../../log/records/stored-row.ts'
import { isoTime } from '../../../log/time.ts'
import { type Message, messageOf } from '../../../log/views/message.ts'
import type { Page, Window } from '../../../log/windows.ts'
import type { Database } from '../database.ts'
import type { HeadStore } from '../heads.ts'
import { blobLoader } from '../rows.ts'

/** An entry of the index over lanes. */
type Place = [version: number, lane: number, position: number]

type MessageRow = [position: number, at: number, message: string, crc: number, schema: number, body: string | null]

/** Stands in for a row that is gone: the message keeps its place and is shown as damaged. */
const lostRow: MessageRow = [0, 0, '', -1, 0, null]

const messageColumns = 'e.position, e.at, e.message, e.crc, e.schema, e.body'

export function windowReader({ database, heads }: { database: Database; heads: HeadStore }) {
  const page = (direction: 'asc' | 'desc') => `
    select version, lane, position from events
    where conversation = ? and lane = ? and version > ? and version < ? order by version ${direction} limit ?`
  const foremost = (direction: 'asc' | 'desc') => `
    select l.value, (
      select version from events where conversation = ?1 and lane = l.value and version > ?2 and version < ?3
      order by version ${direction} limit 1) as version
    from json_each(?4) l where version is not null order by version ${direction} limit ?5`
  const sql = {
    oldest: { page: database.prepare(page('asc')), foremost: database.prepare(foremost('asc')) },
    newest: { page: database.prepare(page('desc')), foremost: database.prepare(foremost('desc')) },
    kept: database.prepare(`
      select e.version, e.lane, e.position from json_each(?2) v cross join json_each(?3) l cross join events e
        on e.conversation = ?1 and e.lane = l.value and e.version = v.value
      order by e.version`),
    rows: database.prepare(`
      select ${messageColumns} from json_each(?) p cross join events e on e.position = p.value`),
    byId: database.prepare(`
      select ${messageColumns}, e.version, e.lane, c.id from events e join conversations c using (conversation)
      where e.position = ? and e.message = ? and c.project = ?`),
  }
  const blobs = blobLoader(database)

  function messages(window: Window, { before, after, limit }: Page): Message[] {
    const conversation = heads.conversationRow(window.project, window.conversationId)
    if (conversation === undefined || limit <= 0) return []
    const end = Math.min(before ?? Number.MAX_SAFE_INTEGER, endOf(window) + 1)
    const shown = shownLanes(conversation, window)
    const inWindow = after === undefined ? sql.newest : sql.oldest
    const stretch = [Math.max(window.start, after ?? 0), end] as const
    // A page takes from no more lanes than it has messages.
    const lanes =
      shown.length <= limit
        ? shown
        : (inWindow.foremost.all(conversation, ...stretch, JSON.stringify(shown), limit) as number[][]).map(
            ([lane]) => lane!,
          )
    const places = lanes.flatMap(lane => inWindow.page.all(conversation, lane, ...stretch, limit) as Place[])
    const kept = keptPlaces(conversation, window, shown).filter(([version]) => version > (after ?? 0) && version < end)
    const all = [...kept, ...places].sort((a, b) => a[0] - b[0])
    return messagesAt(after === undefined ? all.slice(-limit) : all.slice(0, limit), window)
  }

  function messagesAt(places: readonly Place[], { project, conversationId }: Window): Message[] {
    const positions = JSON.stringify(places.map(([, , position]) => position))
    const rows = new Map((sql.rows.all(positions) as MessageRow[]).map(row => [row[0], row]))
    const load = blobs(heads.projectRow(project)!)
    return places.map(([version, lane, position]) =>
      messageIn(rows.get(position) ?? lostRow, { version, lane, conversationId }, load),
    )
  }

  /** Messages that a reset kept although they stand before the window. */
  function keptPlaces(conversation: number, { kept, start }: Window, lanes: readonly number[]): Place[] {
    const versions = kept.filter(version => version <= start)
    if (versions.length === 0) return []
    return sql.kept.all(conversation, JSON.stringify(versions), JSON.stringify(lanes)) as Place[]
  }

  function measure(window: Window): LaneSums & { lastActiveAt: string | undefined } {
    const conversation = heads.conversationRow(window.project, window.conversationId)
    if (conversation === undefined) return { ...noSums, lastActiveAt: undefined }
    const lanes = shownLanes(conversation, window)
    const end = endOf(window)
    const start = Math.min(window.start, end)
    let total = noSums
    let last = 0
    for (const lane of lanes) {
      const newest = heads.sumsUpTo(conversation, lane, end)
      if (newest.messages === 0) continue
      total = addSums(total, subtractSums(newest, heads.sumsUpTo(conversation, lane, start)))
      last = Math.max(last, heads.lastAt(conversation, lane, end) ?? 0)
    }
    for (const [version, lane] of keptPlaces(conversation, window, lanes)) {
      if (version > end) continue
      const added = subtractSums(
        heads.sumsUpTo(conversation, lane, version),
        heads.sumsUpTo(conversation, lane, version - 1),
      )
      total = addSums(total, added)
    }
    return { ...total, lastActiveAt: last > 0 ? isoTime(last) : undefined }
  }

  /** The message at a position that the search index gave. */
  function message(project: string, messageId: string, position: number): Message | undefined {
    const projectRow = heads.projectRow(project)
    if (projectRow === undefined) return undefined
    type RowById = [...MessageRow, version: number, lane: number, conversationId: string]
    const row = sql.byId.get(position, messageId, projectRow) as RowById | undefined
    if (!row) return undefined
    const [version, lane, conversationId] = row.slice(messageIdColumns) as [number, number, string]
    return messageIn(row.slice(0, messageIdColumns) as MessageRow, { version, lane, conversationId }, blobs(projectRow))
  }

  function shownLanes(conversation: number, window: Window): number[] {
    const lanes = heads.lanesSeen(conversation, window.viewer)
    return lanes.filter(lane => window.kinds.includes(lane.kind)).map(lane => lane.row)
  }

  return { messages, measure, message }
}

const messageIdColumns = 6

/** The newest version that is inside. */
function endOf({ end }: Window): number {
  return Math.min(end ?? Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER - 1)
}

/** Version and lane are the index's, so that the checksum also notices an entry that leads to another row. */
function messageIn(
  [, at, id, crc, schema, body]: MessageRow,
  { version, lane, conversationId }: { version: number; lane: number; conversationId: string },
  load: LoadBlob,
): Message {
  const stored = { type: 'message.added', version, at, lane, schema, message: id, crc, body }
  const place = { id, conversationId, version, timestamp: isoTime(at) }
  if (body !== null && schema === packedSchema && isIntact(stored)) {
    try {
      return unpackedMessage(body, place, load)
    } catch {
      // The event below says what is wrong with it.
    }
  }
  return messageOf({ conversationId, version, at: place.timestamp, event: eventIn(stored, load) }, id)!
}
