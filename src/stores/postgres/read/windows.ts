/** Messages as a viewer sees them, and how much there is of them. */
import type { Audience } from '../../../log/events/audience.ts'
import { idProblem } from '../../../log/events/id.ts'
import { addSums, type LaneKind, type LaneSums, noSums, subtractSums } from '../../../log/records/lane.ts'
import { type LoadBlob, packedSchema, unpackedMessage } from '../../../log/records/record.ts'
import { eventIn, isIntact } from '../../../log/records/stored-row.ts'
import { isoTime } from '../../../log/time.ts'
import { type Message, messageOf } from '../../../log/views/message.ts'
import { isVisible } from '../../../log/visibility.ts'
import type { Page, Window, Windows } from '../../../log/windows.ts'
import type { Database, Run } from '../database.ts'
import type { Projects } from '../projects.ts'
import { blobsOf, highestVersion } from '../rows.ts'

type MessageRow = [version: number, schema: number, at: number, message: string, crc: number, body: string | null]

const messageColumns = 'e.version, e.schema, e.at, e.message, e.crc, e.body'

/** The part of a conversation that a window shows. */
interface Shown {
  project: number
  conversation: number
  lanes: number[]
}

/** A page of several lanes: of each the first ones in that direction, and of these the first ones of all. */
const selectPage = (direction: 'asc' | 'desc') => `
  select m.* from unnest($3::integer[]) as l(lane) cross join lateral (
    select ${messageColumns} from events e
    where e.project = $1 and e.conversation = $2 and e.lane = l.lane and e.version > $4 and e.version < $5
    order by e.version ${direction} limit $6) m
  order by m.version ${direction} limit $6`
const selectOldest = selectPage('asc')
const selectNewest = selectPage('desc')

const selectKept = `
  select ${messageColumns} from events e
  where e.project = $1 and e.conversation = $2 and e.lane = any($3::integer[]) and e.version = any($4::integer[])
  order by e.version`

/** The running sums of each lane at the newest of its messages up to a version. */
const sumsUpTo = (version: string) => `
  left join lateral (
    select messages, tokens, input, output, at from events e
    where e.project = $1 and e.conversation = $2 and e.lane = l.lane and e.version <= ${version}
    order by version desc limit 1)`
const selectSums = `
  select n.messages, n.tokens, n.input, n.output, n.at, b.messages, b.tokens, b.input, b.output
  from unnest($3::integer[]) as l(lane) ${sumsUpTo('$4')} n on true ${sumsUpTo('$5')} b on true`

const selectKeptSums = `
  select e.messages - coalesce(b.messages, 0), e.tokens - coalesce(b.tokens, 0),
    e.input - coalesce(b.input, 0), e.output - coalesce(b.output, 0)
  from events e left join lateral (
    select messages, tokens, input, output from events
    where project = e.project and conversation = e.conversation and lane = e.lane and version < e.version
    order by version desc limit 1) b on true
  where e.project = $1 and e.conversation = $2 and e.lane = any($3::integer[]) and e.version = any($4::integer[])`

const selectLanes = `
  select c.conversation, l.lane, l.kind, l.audience
  from conversations c left join lanes l using (project, conversation)
  where c.project = $1 and c.id = $2 order by l.lane`

export interface WindowReader extends Omit<Windows, 'message'> {
  /** The message at a place that the full-text index gave. */
  message(
    project: number,
    messageId: string,
    place: { conversation: number; version: number },
  ): Promise<Message | undefined>
}

export function windowReader({ database, projects }: { database: Database; projects: Projects }): WindowReader {
  /** One snapshot: a lane that is new since the lanes were read must not leave a hole between messages of others. */
  async function show<T>(window: Window, nothing: T, work: (run: Run, shown: Shown) => Promise<T>): Promise<T> {
    const project = await projects.find(window.project)
    if (project === undefined || idProblem(window.conversationId)) return nothing
    return database.transaction(
      async run => {
        const shown = await shownBy(run, project, window)
        return shown ? work(run, shown) : nothing
      },
      { readOnly: true },
    )
  }

  return {
    async messages(window, page) {
      if (page.limit <= 0) return []
      return show<Message[]>(window, [], async (run, shown) => {
        const rows = await rowsOf(run, shown, window, page)
        const load = await blobsOf(
          run,
          shown.project,
          rows.map(row => row[5]),
        )
        return rows.map(row => messageIn(row, window.conversationId, load))
      })
    },

    measure: window =>
      show(window, { ...noSums, lastActiveAt: undefined }, (run, shown) => measured(run, shown, window)),

    async message(project, messageId, { conversation, version }) {
      const { read } = database
      const [row] = await read<[...MessageRow, string]>(
        `select ${messageColumns}, c.id from events e join conversations c using (project, conversation)
        where e.project = $1 and e.conversation = $2 and e.version = $3 and e.message = $4`,
        [project, conversation, version, messageId],
      )
      if (!row) return undefined
      const load = await blobsOf(read, project, [row[5]])
      return messageIn(row.slice(0, -1) as MessageRow, row[6], load)
    },
  }
}

/** Returns the lanes that the window's viewer sees; undefined when there is no such conversation. */
async function shownBy(run: Run, project: number, window: Window): Promise<Shown | undefined> {
  const rows = await run<[number, number | null, LaneKind, string]>(selectLanes, [project, window.conversationId])
  const first = rows[0]
  if (!first) return undefined
  const lanes = rows.flatMap(([, lane, kind, audience]) => {
    const isShown =
      lane !== null && window.kinds.includes(kind) && isVisible(JSON.parse(audience) as Audience, window.viewer)
    return isShown ? [lane] : []
  })
  return { project, conversation: first[0], lanes }
}

/** The rows of a page, oldest first. */
async function rowsOf(run: Run, shown: Shown, window: Window, page: Page): Promise<MessageRow[]> {
  const { project, conversation, lanes } = shown
  const { after, limit } = page
  const before = Math.min(page.before ?? highestVersion, endOf(window) + 1)
  const rows = await run<MessageRow>(after === undefined ? selectNewest : selectOldest, [
    ...[project, conversation, lanes],
    Math.min(Math.max(window.start, after ?? 0), highestVersion),
    before,
    Math.min(limit, highestVersion),
  ])
  rows.sort((a, b) => a[0] - b[0])
  const versions = window.kept.filter(version => version > (after ?? 0) && version < before && version <= window.start)
  if (versions.length === 0) return rows
  const kept = await run<MessageRow>(selectKept, [project, conversation, lanes, versions])
  return after === undefined ? [...kept, ...rows].slice(-limit) : [...kept, ...rows].slice(0, limit)
}

async function measured(
  run: Run,
  { project, conversation, lanes }: Shown,
  window: Window,
): Promise<LaneSums & { lastActiveAt: string | undefined }> {
  const end = endOf(window)
  const start = Math.min(window.start, end)
  let total = noSums
  let last = 0
  for (const row of await run<Array<number | null>>(selectSums, [project, conversation, lanes, end, start])) {
    const at = row[4]
    if (at === null || at === undefined) continue
    total = addSums(total, subtractSums(sumsIn(row), sumsIn(row.slice(5))))
    last = Math.max(last, at)
  }
  const versions = window.kept.filter(version => version <= start)
  if (versions.length > 0) {
    const rows = await run<number[]>(selectKeptSums, [project, conversation, lanes, versions])
    for (const row of rows) total = addSums(total, sumsIn(row))
  }
  return { ...total, lastActiveAt: last > 0 ? isoTime(last) : undefined }
}

/** The newest version that is inside. */
function endOf({ end }: Window): number {
  return Math.min(end ?? highestVersion, highestVersion - 1)
}

function sumsIn([messages, tokens, input, output]: ReadonlyArray<number | null>): LaneSums {
  return { messages: messages ?? 0, tokens: tokens ?? 0, input: input ?? 0, output: output ?? 0 }
}

function messageIn(row: MessageRow, conversationId: string, load: LoadBlob): Message {
  const [version, schema, at, id, crc, body] = row
  const stored = { type: 'message.added', version, at, lane: null, schema, message: id, crc, body }
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
