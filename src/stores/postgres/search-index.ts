/**
 * The full-text index: a table beside the log, fed from it behind the commits, because indexing in the append's own
 * transaction would triple what it writes.
 *
 * It knows, per project, the transaction before which everything was taken in. What is newer is looked at again with
 * every feed, so that neither commits out of order nor a transaction that stays open are a reason to miss a message.
 */
import type { Landmark } from '../../log/directory.ts'
import { eventIn } from '../../log/records/stored-row.ts'
import { trigramsOf } from '../common/search-text/search-terms.ts'
import { searchableText } from '../common/search-text/searchable.ts'
import { wordsIn } from '../common/search-text/words.ts'
import type { Database } from './database.ts'
import { isConstraint } from './errors.ts'
import { usualGate } from './gate.ts'
import { landmarkEvery, landmarkKeeper } from './landmarks.ts'
import { type PhaseAt, phasesOf } from './phases.ts'
import { isAfter, type Place } from './position.ts'
import { blobsOf } from './rows.ts'

/** Bodies can be large: few at a time. */
const batchSize = 100
/** Of the server: positions of words, and how many of one word. */
const limits = { position: 16_383, places: 255 }
const longestTitle = 300

type FeedRow = [
  gate: number,
  tx: number | null,
  n: number,
  isNew: boolean,
  conversation: number,
  version: number,
  type: string,
  schema: number,
  at: number,
  message: string,
  lane: number,
  crc: number,
  body: string | null,
]

interface DocRow {
  c: number
  v: number
  lane: number
  at: number
  author: string
  role: string
  phase: string | null
  message: string
  length: number
  words: string
}

export type SearchIndex = ReturnType<typeof searchIndex>

export function searchIndex({
  database,
  base,
  beside,
}: {
  database: Database
  base: number
  /** Feeds the rest of a project elsewhere, when there is more than a batch of it. */
  beside?: (project: number) => Promise<void>
}) {
  const landmarks = landmarkKeeper(database)
  const sql = {
    progress: 'select tx from search_progress where project = $1',
    // What is there already is passed over without its body.
    news: `
      select g.gate, e.tx, e.n, d.known is null, e.conversation, e.version, e.type, e.schema, e.at, e.message, e.lane, e.crc,
        case when d.known is null then e.body end
      from (select ${usualGate} + $4 as gate) g left join lateral (
        select * from events where project = $1 and (tx, n) > ($2, $3) and lane is not null
        order by tx, n limit ${batchSize}) e on true
      left join lateral (
        select 1 as known from docs where project = $1 and conversation = e.conversation and version = e.version
        limit 1) d on true`,
    put: `
      insert into docs (project, conversation, version, lane, at, author, role, phase, message, length, words)
      select $1, x.c, x.v, x.lane, x.at, x.author, x.role, x.phase, x.message, x.length, x.words::tsvector
      from json_to_recordset($2) as x(c bigint, v integer, lane integer, at bigint, author text, role text, phase text,
        message text, length integer, words text)
      on conflict do nothing`,
    moveOn: `
      insert into search_progress (project, tx) values ($1, $2)
      on conflict (project) do update set tx = greatest(search_progress.tx, excluded.tx)`,
    find: 'select conversation, version from docs where project = $1 and message = $2',
  }

  const feeds = new Map<number, { now: Promise<void>; next?: Promise<void> }>()

  /** Takes in everything the log of a project has by now. Whoever asks while it is done shares the next time. */
  function feed(project: number): Promise<void> {
    const known = feeds.get(project)
    if (!known) return begin(project)
    known.next ??= known.now.catch(() => undefined).then(() => begin(project))
    return known.next
  }

  function begin(project: number): Promise<void> {
    const one = { now: takeIn(project) }
    feeds.set(project, one)
    return one.now.finally(() => {
      if (feeds.get(project) === one && !('next' in one)) feeds.delete(project)
    })
  }

  async function takeIn(project: number): Promise<void> {
    const [progress] = await database.read<[number]>(sql.progress, [project])
    const mark = progress?.[0] ?? 0
    let after: Place = { tx: mark, n: -1 }
    for (;;) {
      const rows = await database.read<FeedRow>(sql.news, [project, after.tx, after.n, base])
      const gate = rows[0]![0]
      const found = rows.filter(row => row[1] !== null)
      const news = found.filter(row => row[3])
      if (news.length > 0) {
        await put(project, news)
        await passLandmarks(project, news)
      }
      for (const row of found) {
        const place = { tx: row[1]!, n: row[2] }
        if (isAfter(place, after)) after = place
      }
      const isAll = found.length < batchSize
      // The mark is for skipping, so it need not follow every message.
      const next = Math.min(gate, isAll ? gate : after.tx)
      if (next > mark && (news.length > 0 || next - mark > 1000)) await database.read(sql.moveOn, [project, next])
      if (isAll) return
      if (beside) return beside(project)
    }
  }

  /** Conversations that have come past a round version. */
  async function passLandmarks(project: number, rows: readonly FeedRow[]): Promise<void> {
    const spans = new Map<number, { first: number; last: number }>()
    for (const [, , , , conversation, version] of rows) {
      const known = spans.get(conversation)
      spans.set(conversation, { first: known?.first ?? version, last: version })
    }
    for (const [conversation, { first, last }] of spans) {
      // Facts that are not messages may stand at the round version; they are few.
      const rounds = Math.floor(last / landmarkEvery) - Math.floor((first - 2) / landmarkEvery)
      // Failing here loses nothing: whoever needs one makes it.
      if (rounds > 0) await landmarks.pass(project, conversation, last).catch(() => undefined)
    }
  }

  async function put(project: number, rows: readonly FeedRow[]): Promise<void> {
    const load = await blobsOf(
      database.read,
      project,
      rows.map(row => row[12]),
    )
    const phaseAt = await phasesOf(
      database.read,
      project,
      rows.map(row => ({ conversation: row[4], version: row[5] })),
    )
    const docs = rows.flatMap(row => docOf(project, row, load, phaseAt) ?? [])
    try {
      await database.read(sql.put, [project, JSON.stringify(docs)])
    } catch (error) {
      // A conversation was purged on the way; the next feed does without it.
      if (!isConstraint(error) && !isConstraint((error as Error).cause)) throw error
    }
  }

  return {
    feed,
    /** The nearest heads kept from before a version; made now, if the nearest are far away. */
    async landmark(
      project: number,
      conversation: number,
      version: number,
      { mayMake }: { mayMake: boolean },
    ): Promise<Landmark | undefined> {
      const known = await landmarks.find(project, conversation, version)
      if (!mayMake || version - (known?.conversation.version ?? 0) < 2 * landmarkEvery) return known
      await landmarks.pass(project, conversation, version)
      return landmarks.find(project, conversation, version)
    },
    async size(projects: readonly number[]): Promise<number> {
      const [row] = await database.read<[number]>('select count(*) from docs where project = any($1::bigint[])', [
        projects,
      ])
      return row![0]
    },
    /** Where the messages of an id stand. */
    async find(project: number, messageId: string): Promise<Array<{ conversation: number; version: number }>> {
      const rows = await database.read<[number, number]>(sql.find, [project, messageId])
      return rows.map(([conversation, version]) => ({ conversation, version }))
    },
  }
}

function docOf(
  project: number,
  row: FeedRow,
  load: (digest: string) => string | undefined,
  phaseAt: PhaseAt,
): DocRow | undefined {
  const [, , , , c, v, type, schema, at, message, lane, crc, body] = row
  const event = eventIn({ version: v, at, lane: null, type, schema, message, crc, body }, load)
  const place = { c, v, lane, at, message }
  // It keeps its place, so that it can still be found by its id.
  if (event.type === 'erased' || event.type === 'damaged' || event.type === 'unknown') {
    return { ...place, author: '', role: '', phase: null, length: 0, words: '' }
  }
  if (event.type !== 'message.added') return undefined
  const phase = phaseAt({ conversation: c, version: v }) ?? null
  const { words, length } = vectorOf(project, c, searchableText(event.parts))
  return { ...place, author: event.author, role: event.role, phase, length, words }
}

/** The words as the server's own notation has them, with marks for project and conversation to look within. */
function vectorOf(project: number, conversation: number, text: string): { words: string; length: number } {
  const places = new Map<string, number[]>()
  const words = wordsIn(text)
  for (const [index, { stem }] of words.entries()) {
    const known = places.get(stem)
    if (!known) places.set(stem, [index + 1])
    else if (known.length < limits.places && index + 1 < limits.position) known.push(index + 1)
  }
  const parts = [`'${projectMark(project)}'`, `'${conversationMark(conversation)}'`]
  for (const [stem, at] of places) {
    const within = at.filter(place => place < limits.position)
    parts.push(within.length > 0 ? `'${stem}':${within.join(',')}` : `'${stem}':${limits.position}`)
  }
  return { words: parts.join(' '), length: words.length }
}

/** No word has a sign like this in it. */
export function projectMark(project: number): string {
  return `#p${project}`
}

export function conversationMark(conversation: number): string {
  return `#c${conversation}`
}

/** The pieces of a title, with the mark of its project. */
export function titleGrams(project: number, title: string): string[] {
  return [projectMark(project), ...trigramsOf(title.slice(0, longestTitle))]
}
