/** Messages as a viewer sees them, and how much there is of them. */
import type { Audience } from '../../log/events/audience.ts'
import { idProblem } from '../../log/events/id.ts'
import { Recent } from '../../log/lru.ts'
import { addSums, type LaneKind, type LaneSums, noSums, subtractSums } from '../../log/records/lane.ts'
import { type LoadBlob, packedSchema, unpackedMessage } from '../../log/records/record.ts'
import { eventIn, isIntact } from '../../log/records/stored-row.ts'
import { isoTime } from '../../log/time.ts'
import { type Message, messageOf } from '../../log/views/message.ts'
import { isVisible } from '../../log/visibility.ts'
import type { Page, Window } from '../../log/windows.ts'
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
type Stamped<Row extends unknown[]> = [hasMoreLanes: boolean, ...Row]

/** The lanes of a conversation. A lane never changes; there can only be more of them. */
interface Lanes {
  conversation: number
  newest: number
  lanes: Array<{ lane: number; kind: LaneKind; audience: Audience }>
}

const kept = 512

const hasMoreLanes = 'exists (select 1 from lanes l where l.project = $1 and l.conversation = $2 and l.lane > $3)'
/** A conversation that is gone has no end, and so gives no row. */
const ofConversation = 'on true where z.project = $1 and z.conversation = $2'

/** Most windows show one lane, or none; then the server has nothing to merge. No lane has the number 0. */
function oneOrMany(lanes: readonly number[]): { form: 'one' | 'many'; lane: number | readonly number[] } {
  return lanes.length > 1 ? { form: 'many', lane: lanes } : { form: 'one', lane: lanes[0] ?? 0 }
}

export function windowReader({ database, projects }: { database: Database; projects: Projects }) {
  const known = new Recent<Lanes>(kept)
  const read = new KnownMessages()
  const inLane = (lane: string, behind: string) => `
    select ${messageColumns} from events e
    where e.project = $1 and e.conversation = $2 and e.lane = ${lane} and e.version > ${behind} and e.version < $6`
  const page = (direction: 'asc' | 'desc') => {
    const ordered = `order by version ${direction} limit $7`
    return {
      one: `select ${hasMoreLanes}, m.* from ends z left join lateral (
        ${inLane('$4', '$5')} ${ordered}) m ${ofConversation}`,
      many: `select ${hasMoreLanes}, m.* from ends z left join lateral (
        select x.* from unnest($4::integer[]) as l(lane) cross join lateral (${inLane('l.lane', '$5')} ${ordered}) x
        ${ordered}) m ${ofConversation}`,
    }
  }
  // Whether anything that is known was erased since.
  const wasErased = `exists (select 1 from events f where f.project = $1 and f.conversation = $2 and f.lane is null
    and f.version > $8 and f.type = 'message.erased')`
  const newestFirst = 'order by version desc limit $7'
  /** Sums of a lane up to a version. */
  const sums = (lane: string, upTo: string, columns = '') => `
    left join lateral (
      select messages, tokens, input, output${columns} from events e
      where e.project = $1 and e.conversation = $2 and e.lane = ${lane} and e.version <= ${upTo}
      order by version desc limit 1)`
  const measured = (lane: string, lanes: string, isFromStart: boolean) => `
    select ${hasMoreLanes}, n.messages, n.tokens, n.input, n.output, n.at
      ${isFromStart ? '' : ', b.messages, b.tokens, b.input, b.output'}
    from ends z ${lanes} ${sums(lane, '$5', ', at')} n ${isFromStart ? '' : `on true ${sums(lane, '$6')} b`} ${ofConversation}`
  const eachLane = 'left join lateral (select unnest($4::integer[]) as lane) l on true'
  const sql = {
    newest: page('desc'),
    oldest: page('asc'),
    // Of each lane what comes behind what is known of it.
    newer: {
      one: `select ${hasMoreLanes}, z.version, ${wasErased}, m.* from ends z left join lateral (
        ${inLane('$4', '$5')} ${newestFirst}) m ${ofConversation}`,
      many: `select ${hasMoreLanes}, z.version, ${wasErased}, m.* from ends z left join lateral (
        select x.* from unnest($4::integer[], $5::integer[]) as l(lane, known) cross join lateral (
          ${inLane('l.lane', 'l.known')} ${newestFirst}) x
        ${newestFirst}) m ${ofConversation}`,
    },
    measure: {
      one: measured('$4', '', false),
      many: measured('l.lane', eachLane, false),
    },
    measureAll: {
      one: measured('$4', '', true),
      many: measured('l.lane', eachLane, true),
    },
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

  /** Asks about the lanes a window shows; again, if there turn out to be more of them, or the conversation came back. */
  async function ask<Row extends unknown[]>(
    project: number,
    window: Window,
    question: (asked: {
      conversation: number
      lanes: number[]
      /** What every question begins with. */
      stamp: [project: number, conversation: number, newestLane: number]
      /** Nothing, when there is nothing to ask. */
    }) => Promise<Array<Stamped<Row>> | undefined>,
  ): Promise<{ conversation: number; lanes: number[]; rows: Row[] } | undefined> {
    for (let anew = false; ; anew = true) {
      const all = await lanesOf(project, window, anew)
      if (!all) return undefined
      const { conversation, newest } = all
      const lanes = all.lanes
        .filter(lane => window.kinds.includes(lane.kind) && isVisible(lane.audience, window.viewer))
        .map(lane => lane.lane)
      const rows = await question({ conversation, lanes, stamp: [project, conversation, newest] })
      const first = rows?.[0]
      if (first?.[0] === false) return { conversation, lanes, rows: rows!.map(row => row.slice(1) as Row) }
      if (!rows || (!first && anew)) return undefined
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
    const found = await ask<MessageRow>(project, window, ({ lanes, stamp }) => {
      const { form, lane } = oneOrMany(lanes)
      return database.look((forwards ? sql.oldest : sql.newest)[form], [
        ...stamp,
        lane,
        Math.min(Math.max(window.start, after ?? 0), highestVersion),
        before,
        Math.min(limit, highestVersion),
      ])
    })
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
      async ({ conversation, lanes, stamp }) => {
        known = read.lanes(conversation, lanes, start)
        const stretches = [...known.stretches.values()]
        isFar = stretches.some(({ from }) => from > start && before <= from)
        if (isFar) return undefined
        const { form, lane } = oneOrMany(lanes)
        const upTo = stretches.map(one => one.upTo)
        return database.look(sql.newer[form], [
          ...stamp,
          lane,
          form === 'many' ? upTo : (upTo[0] ?? 0),
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
    const found = await ask<Array<number | null>>(project, window, ({ lanes, stamp }) => {
      const { form, lane } = oneOrMany(lanes)
      return start === 0
        ? database.look(sql.measureAll[form], [...stamp, lane, end])
        : database.look(sql.measure[form], [...stamp, lane, end, start])
    })
    if (!found) return nothing
    let total = noSums
    let last = 0
    for (const [messages, tokens, input, output, at, ...before] of found.rows) {
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
  if (body !== null && schema === packedSchema && isIntact(stored)) {
    try {
      return unpackedMessage(body, place, load)
    } catch {
      // What is wrong with it is said below.
    }
  }
  return messageOf({ conversationId, version, at: place.timestamp, event: eventIn(stored, load) }, id)!
}
