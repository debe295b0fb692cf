/**
 * The full-text index: a table of its own, fed from the log after the commits, because indexing in the append's own
 * transaction would triple what it writes.
 *
 * It knows, per project, the transaction before which everything was taken in. What is newer is looked at again with
 * every feed, so that neither commits out of order nor a transaction that stays open are a reason to miss a message.
 */

import { eventIn } from '../../../log/records/stored-row.ts'
import { searchableText } from '../../common/search-text/searchable.ts'
import { wordsIn } from '../../common/search-text/words.ts'
import type { Database } from '../database.ts'
import { isConstraint } from '../errors.ts'
import { isAfter, type Place } from '../position.ts'
import { usualHorizon } from '../read/read-horizon.ts'
import { blobsOf } from '../rows.ts'
import { conversationMark, projectMark } from '../search-marks.ts'
import { type Landmarks, landmarkEvery, landmarkKeeper } from '../upkeep/landmarks.ts'
import { type PhaseAt, phasesOf } from './phases.ts'

/** Bodies can be large: few at a time. */
const batchSize = 100
/** The server's limits: the highest position of a word, and the number of positions of one. */
const limits = { position: 16_383, places: 255 }
/** A slice of indexing. Then the event loop has its turn. */
const sliceMs = 10

type FeedRow = [
  horizon: number,
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

const sql = {
  progress: 'select tx from search_progress where project = $1',
  // Rows that are in the index already come without their bodies.
  news: `
    select g.horizon, e.tx, e.n, d.known is null, e.conversation, e.version, e.type, e.schema, e.at, e.message, e.lane, e.crc,
      case when d.known is null then e.body end
    from (select ${usualHorizon} + $4 as horizon) g left join lateral (
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

/** The feed under way of a project, and the one that follows it. */
interface Feed {
  now: Promise<void>
  next?: Promise<void>
}

export class SearchIndex {
  readonly #database: Database
  readonly #base: number
  readonly #landmarks: Landmarks
  readonly #feeds = new Map<number, Feed>()

  constructor({ database, base }: { database: Database; base: number }) {
    this.#database = database
    this.#base = base
    this.#landmarks = landmarkKeeper(database)
  }

  /** Takes in everything the log of a project has by now. Calls that come meanwhile share the next time. */
  feed(project: number): Promise<void> {
    const feed = this.#feeds.get(project)
    if (!feed) return this.#begin(project)
    feed.next ??= feed.now.catch(() => undefined).then(() => this.#begin(project))
    return feed.next
  }

  async size(projects: readonly number[]): Promise<number> {
    const [row] = await this.#database.read<[number]>('select count(*) from docs where project = any($1::bigint[])', [
      projects,
    ])
    return row![0]
  }

  /** The places of the messages with an id. */
  async find(project: number, messageId: string): Promise<Array<{ conversation: number; version: number }>> {
    const rows = await this.#database.read<[number, number]>(sql.find, [project, messageId])
    return rows.map(([conversation, version]) => ({ conversation, version }))
  }

  #begin(project: number): Promise<void> {
    const feed: Feed = { now: this.#takeIn(project) }
    this.#feeds.set(project, feed)
    return feed.now.finally(() => {
      if (this.#feeds.get(project) === feed && !feed.next) this.#feeds.delete(project)
    })
  }

  async #takeIn(project: number): Promise<void> {
    const [progress] = await this.#database.read<[number]>(sql.progress, [project])
    const mark = progress?.[0] ?? 0
    let after: Place = { tx: mark, n: -1 }
    for (;;) {
      const rows = await this.#database.read<FeedRow>(sql.news, [project, after.tx, after.n, this.#base])
      const horizon = rows[0]![0]
      const found = rows.filter(row => row[1] !== null)
      const news = found.filter(row => row[3])
      if (news.length > 0) {
        await this.#put(project, news)
        await this.#passLandmarks(project, news)
      }
      for (const row of found) {
        const place = { tx: row[1]!, n: row[2] }
        if (isAfter(place, after)) after = place
      }
      const isAll = found.length < batchSize
      // The mark is for skipping, so it need not follow every message.
      const next = Math.min(horizon, isAll ? horizon : after.tx)
      if (next > mark && (news.length > 0 || next - mark > 1000)) await this.#database.read(sql.moveOn, [project, next])
      if (isAll) return
    }
  }

  /** Keeps landmarks of conversations that have come past a round version. */
  async #passLandmarks(project: number, rows: readonly FeedRow[]): Promise<void> {
    const spans = new Map<number, { first: number; last: number }>()
    for (const [, , , , conversation, version] of rows) {
      const known = spans.get(conversation)
      spans.set(conversation, { first: known?.first ?? version, last: version })
    }
    for (const [conversation, { first, last }] of spans) {
      // Facts that are not messages may stand at the round version; they are few.
      const rounds = Math.floor(last / landmarkEvery) - Math.floor((first - 2) / landmarkEvery)
      // Failing here loses nothing: a reader that needs one makes it.
      if (rounds > 0) await this.#landmarks.pass(project, conversation, last).catch(() => undefined)
    }
  }

  async #put(project: number, rows: readonly FeedRow[]): Promise<void> {
    const load = await blobsOf(
      this.#database.read,
      project,
      rows.map(row => row[12]),
    )
    const phaseAt = await phasesOf(
      this.#database.read,
      project,
      rows.map(row => ({ conversation: row[4], version: row[5] })),
    )
    const docs: DocRow[] = []
    let since = performance.now()
    for (const row of rows) {
      const doc = docOf(project, row, load, phaseAt)
      if (doc) docs.push(doc)
      if (performance.now() - since < sliceMs) continue
      // Cutting texts into words takes long, and appends and streams must not wait for it.
      await new Promise(setImmediate)
      since = performance.now()
    }
    try {
      await this.#database.read(sql.put, [project, JSON.stringify(docs)])
    } catch (error) {
      // A conversation was purged on the way; the next feed does without it.
      if (!isConstraint(error) && !isConstraint((error as Error).cause)) throw error
    }
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
