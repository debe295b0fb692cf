/** Messages as a viewer sees them, and how much there is of them. */
import type { Audience } from '../../events/audience.ts'
import { idProblem } from '../../events/id.ts'
import { addSums, type LaneKind, type LaneSums, noSums, subtractSums } from '../../log/lane.ts'
import { Recent } from '../../log/recent.ts'
import { packedSchema, unpackedMessage } from '../../log/record.ts'
import { checksum, eventIn, type LoadBlob } from '../../log/stored-row.ts'
import { isoTime } from '../../log/time.ts'
import { isVisible } from '../../log/visibility.ts'
import type { Page, Window } from '../../log/windows.ts'
import { type Message, messageOf } from '../../views/message.ts'
import type { Database } from './database.ts'
import { floorOf, KnownMessages, messagesBetween, type ReadMessage, withNewer, withOlder } from './known-messages.ts'
import type { Projects } from './projects.ts'
import { blobsOf, highestVersion } from './rows.ts'

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

/** Every row of an answer starts with what tells whether the lanes that were asked about are all there are. */
type Stamped<Row extends unknown[]> = [conversation: number | null, newestLane: number, ...Row]

/** The lanes of a conversation. A lane never changes; there can only be more of them. */
interface Lanes {
  conversation: number
  newest: number
  lanes: Array<{ lane: number; kind: LaneKind; audience: Audience }>
}

const kept = 512

/** Found once per question: taken apart, the server would look for it again for each row. */
const stamped = (columns = '') => `
  with c as materialized (
    select conversation, (
      select coalesce(max(lane), 0) from lanes l where l.project = $1 and l.conversation = c.conversation) as newest${columns}
    from conversations c where project = $1 and id = $2)`

export function windowReader({ database, projects }: { database: Database; projects: Projects }) {
  const known = new Recent<Lanes>(kept)
  const read = new KnownMessages()
  const page = (direction: 'asc' | 'desc') => `${stamped()}
    select c.conversation, c.newest, m.* from c left join lateral (
      select x.* from unnest($3::integer[]) as l(lane) cross join lateral (
        select ${messageColumns} from events e
        where e.project = $1 and e.conversation = c.conversation and e.lane = l.lane
          and e.version > $4 and e.version < $5
        order by e.version ${direction} limit $6) x
      order by x.version ${direction} limit $6) m on true`
  const sql = {
    newest: page('desc'),
    oldest: page('asc'),
    // Of each lane what comes behind what is known of it, and whether anything that is known was erased since.
    newer: `${stamped(`, (select version from ends z where z.project = $1 and z.conversation = c.conversation), exists (
        select 1 from events f where f.project = $1 and f.conversation = c.conversation and f.lane is null
          and f.version > $7 and f.type = 'message.erased') as was_erased`)}
      select c.conversation, c.newest, c.version, c.was_erased, m.* from c left join lateral (
        select x.* from unnest($3::integer[], $4::integer[]) as l(lane, known) cross join lateral (
          select ${messageColumns} from events e
          where e.project = $1 and e.conversation = c.conversation and e.lane = l.lane
            and e.version > l.known and e.version < $5
          order by e.version desc limit $6) x
        order by x.version desc limit $6) m on true`,
    older: `
      select x.* from unnest($3::integer[], $4::integer[]) as l(lane, known) cross join lateral (
        select ${messageColumns} from events e
        where e.project = $1 and e.conversation = $2 and e.lane = l.lane and e.version > $5 and e.version <= l.known
        order by e.version desc limit $6) x
      order by x.version desc limit $6`,
    kept: `
      select ${messageColumns} from events e
      where e.project = $1 and e.conversation = $2 and e.version = any($3::integer[]) and e.lane = any($4::integer[])
      order by e.version`,
    measure: `${stamped()}
      select c.conversation, c.newest, l.lane, n.messages, n.tokens, n.input, n.output, n.at,
        b.messages, b.tokens, b.input, b.output
      from c left join lateral (select unnest($3::integer[]) as lane) l on true
      left join lateral (
        select messages, tokens, input, output, at from events e
        where e.project = $1 and e.conversation = c.conversation and e.lane = l.lane and e.version <= $5
        order by version desc limit 1) n on true
      left join lateral (
        select messages, tokens, input, output from events e
        where e.project = $1 and e.conversation = c.conversation and e.lane = l.lane and e.version <= $4
        order by version desc limit 1) b on true`,
    keptSums: `
      select e.messages - coalesce(b.messages, 0), e.tokens - coalesce(b.tokens, 0),
        e.input - coalesce(b.input, 0), e.output - coalesce(b.output, 0)
      from events e left join lateral (
        select messages, tokens, input, output from events
        where project = e.project and conversation = e.conversation and lane = e.lane and version < e.version
        order by version desc limit 1) b on true
      where e.project = $1 and e.conversation = $2 and e.version = any($3::integer[]) and e.lane = any($4::integer[])`,
    lanes: `
      select c.conversation, l.lane, l.kind, l.audience
      from conversations c left join lanes l using (project, conversation)
      where c.project = $1 and c.id = $2 order by l.lane`,
    atPlace: `
      select ${messageColumns}, c.id from events e join conversations c using (project, conversation)
      where e.project = $1 and e.conversation = $2 and e.version = $3 and e.message = $4`,
  }

  async function lanesOf(project: number, window: Window, anew: boolean): Promise<Lanes | undefined> {
    const key = `${project} ${window.conversationId}`
    const before = anew ? undefined : known.get(key)
    if (before) return before
    const rows = await database.look<[number, number | null, LaneKind, string]>(sql.lanes, [
      project,
      window.conversationId,
    ])
    const first = rows[0]
    if (!first) {
      known.delete(key)
      return undefined
    }
    const lanes = rows.flatMap(([, lane, kind, audience]) =>
      lane === null ? [] : [{ lane, kind, audience: JSON.parse(audience) as Audience }],
    )
    const found: Lanes = { conversation: first[0], newest: lanes.at(-1)?.lane ?? 0, lanes }
    known.set(key, found)
    return found
  }

  /** Asks about the lanes a window shows; again, if there turn out to be more of them. */
  async function ask<Row extends unknown[]>(
    project: number,
    window: Window,
    question: (asked: { conversation: number; lanes: number[] }) => Promise<Array<Stamped<Row>>>,
  ): Promise<{ conversation: number; lanes: number[]; rows: Row[] } | undefined> {
    for (let anew = false; ; anew = true) {
      const all = await lanesOf(project, window, anew)
      if (!all) return undefined
      const lanes = all.lanes
        .filter(lane => window.kinds.includes(lane.kind) && isVisible(lane.audience, window.viewer))
        .map(lane => lane.lane)
      const rows = await question({ conversation: all.conversation, lanes })
      const [conversation, newest] = rows[0] ?? [null, 0]
      if (conversation === null) return undefined
      if (conversation === all.conversation && newest === all.newest) {
        return { conversation, lanes, rows: rows.map(row => row.slice(2) as Row) }
      }
    }
  }

  async function messages(window: Window, { before: asked, after, limit, shared = false }: Page): Promise<Message[]> {
    const project = await projects.find(window.project)
    if (project === undefined || idProblem(window.conversationId) || limit <= 0) return []
    const forwards = after !== undefined
    const before = Math.min(asked ?? highestVersion, endOf(window) + 1)
    if (shared && !forwards && window.kept.length === 0) {
      const known = await newestKnown(project, window, { before, limit: Math.min(limit, highestVersion) })
      if (known) return known
    }
    const found = await ask<MessageRow>(project, window, ({ lanes }) =>
      database.look(forwards ? sql.oldest : sql.newest, [
        project,
        window.conversationId,
        lanes,
        Math.min(Math.max(window.start, after ?? 0), highestVersion),
        before,
        Math.min(limit, highestVersion),
      ]),
    )
    if (!found) return []
    let rows = found.rows.filter(row => row[0] !== null).sort((a, b) => a[0] - b[0])
    const versions = window.kept.filter(
      version => version > (after ?? 0) && version < before && version <= window.start,
    )
    if (versions.length > 0) {
      const values = [project, found.conversation, versions, found.lanes]
      rows = [...(await database.look<MessageRow>(sql.kept, values)), ...rows]
      rows = forwards ? rows.slice(0, limit) : rows.slice(-limit)
    }
    const load = await blobsOf(
      database.look,
      project,
      rows.map(row => row[6]),
    )
    return rows.map(row => messageIn(row, window.conversationId, load))
  }

  /** The newest messages, those that were read before as they were. Undefined where what is known is of no help. */
  async function newestKnown(
    project: number,
    window: Window,
    { before, limit }: { before: number; limit: number },
  ): Promise<Message[] | undefined> {
    const start = Math.min(window.start, highestVersion - 1)
    const isOpen = before >= highestVersion
    let known = read.lanes(0, [], start)
    let isFar = false
    const found = await ask<[version: number, wasErased: boolean, ...MessageRow]>(
      project,
      window,
      async ({ conversation, lanes }) => {
        known = read.lanes(conversation, lanes, start)
        const stretches = [...known.stretches.values()]
        isFar = stretches.some(({ from }) => from > start && before <= from)
        if (isFar) return []
        return database.look(sql.newer, [
          project,
          window.conversationId,
          lanes,
          stretches.map(one => one.upTo),
          known.isCold ? before : highestVersion,
          limit,
          known.known?.checkedUpTo ?? highestVersion,
        ])
      },
    )
    if (isFar) return undefined
    if (!found) return []
    const { conversation } = found
    const [version, wasErased] = found.rows[0]!
    if (wasErased) {
      read.forget(conversation)
      return undefined
    }
    // A window that starts behind the end has nothing, and says nothing of what comes until its start.
    if (start >= version) return []
    const rows = found.rows.flatMap(([, , ...row]) => (row[0] === null ? [] : [row])).sort((a, b) => b[0] - a[0])
    const upTo = known.isCold && !isOpen ? Math.min(version, before - 1) : version
    let stretches = withNewer(known.stretches, await messagesIn(rows), { upTo, isAll: rows.length < limit })
    let floor = floorOf(stretches, start)
    let messages = messagesBetween(stretches, floor, before)
    // So much is new that it begins behind the window.
    isFar = floor > start && before <= floor
    if (messages.length < limit && floor > start && !isFar) {
      const wanted = limit - messages.length
      const older = await database.look<MessageRow>(sql.older, [
        project,
        conversation,
        [...stretches.keys()],
        [...stretches.values()].map(one => one.from),
        start,
        wanted,
      ])
      stretches = withOlder(stretches, await messagesIn(older), { start, isAll: older.length < wanted })
      floor = floorOf(stretches, start)
      messages = messagesBetween(stretches, floor, before)
    }
    const isKept = read.keep(known, stretches, { checkedUpTo: version, limit })
    return isKept && !isFar ? messages.slice(-limit) : undefined

    async function messagesIn(found: readonly MessageRow[]): Promise<ReadMessage[]> {
      const load = await blobsOf(
        database.look,
        project,
        found.map(row => row[6]),
      )
      return found.map(row => ({
        message: messageIn(row, window.conversationId, load),
        lane: row[3],
        size: row[6]?.length ?? 0,
      }))
    }
  }

  async function measure(window: Window): Promise<LaneSums & { lastActiveAt: string | undefined }> {
    const project = await projects.find(window.project)
    const nothing = { ...noSums, lastActiveAt: undefined }
    if (project === undefined || idProblem(window.conversationId)) return nothing
    const end = endOf(window)
    const start = Math.min(window.start, end)
    const found = await ask<Array<number | null>>(project, window, ({ lanes }) =>
      database.look(sql.measure, [project, window.conversationId, lanes, start, end]),
    )
    if (!found) return nothing
    let total = noSums
    let last = 0
    for (const [, messages, tokens, input, output, at, ...before] of found.rows) {
      if (messages === null || messages === undefined) continue
      total = addSums(total, subtractSums(sumsIn([messages, tokens!, input!, output!]), sumsIn(before)))
      if (at! > last) last = at!
    }
    const versions = window.kept.filter(version => version <= start)
    if (versions.length > 0) {
      const values = [project, found.conversation, versions, found.lanes]
      for (const row of await database.look<number[]>(sql.keptSums, values)) total = addSums(total, sumsIn(row))
    }
    return { ...total, lastActiveAt: last > 0 ? isoTime(last) : undefined }
  }

  /** The message at a place the index gave. */
  async function message(
    project: number,
    messageId: string,
    place: { conversation: number; version: number },
  ): Promise<Message | undefined> {
    const [row] = await database.look<[...MessageRow, string]>(sql.atPlace, [
      project,
      place.conversation,
      place.version,
      messageId,
    ])
    if (!row) return undefined
    const load = await blobsOf(database.look, project, [row[6]])
    return messageIn(row.slice(0, -1) as MessageRow, row[7], load)
  }

  return { messages, measure, message }
}

/** The newest version that is inside. */
function endOf({ end }: Window): number {
  return Math.min(end ?? highestVersion, highestVersion - 1)
}

function sumsIn([messages, tokens, input, output]: ReadonlyArray<number | null>): LaneSums {
  return { messages: messages ?? 0, tokens: tokens ?? 0, input: input ?? 0, output: output ?? 0 }
}

function messageIn(row: MessageRow, conversationId: string, load: LoadBlob): Message {
  const [version, schema, at, , id, crc, body] = row
  const stored = { type: 'message.added', version, at, lane: null, schema, message: id, crc, body }
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
