/**
 * Search over the index: ranked by words (bm25), lifted by neighbours that have the words a message lacks.
 *
 * A question and its answer share few words. So a message counts as covering a query word also when one of the two
 * messages on either side has it.
 */
import { audienceOfKey } from '../../../events/audience.ts'
import { idProblem } from '../../../events/id.ts'
import type { Role } from '../../../events/message.ts'
import type { Landmark } from '../../../log/directory.ts'
import { nameless, parsedOr } from '../../../log/fold.ts'
import { blockSize, inBlocks, wholeBlocks } from '../../../log/ranking.ts'
import type { SearchHit, SearchQuery, TitleHit, TitleQuery } from '../../../log/search.ts'
import { likeness, type Term, termsOf, trigramsOf } from '../../../log/search-terms.ts'
import { seam, searchableText, splitScript } from '../../../log/searchable.ts'
import { eventIn } from '../../../log/stored-row.ts'
import { isoTime } from '../../../log/time.ts'
import { everything, isVisible, type Viewer } from '../../../log/visibility.ts'
import type { ConversationInfo } from '../../../views/conversation.ts'
import { usedSince } from '../places.ts'
import { blobLoader } from '../rows.ts'
import type { Operations } from './protocol.ts'
import type { SearchIndex } from './search-index.ts'
import { conditions, conversationConditions } from './searched-conversations.ts'

type Candidate = {
  position: number
  conversation: number
  version: number
  lane: number
  score: number
}

type SeesLane = (lane: number) => boolean

const neighbourReach = 2
/** As many as can be paged through; whoever needs more asks more exactly. */
const titlesLookedAt = 5000
const leastLikeness = 0.2
const longestShown = 16 * 1024
const minute = 60_000
const marks = { open: '\u0002', close: '\u0003' }

export function searcher({ database, landmarks }: SearchIndex) {
  const sql = {
    project: database.prepare('select project from log.projects where id = ?'),
    conversation: database.prepare(`
      select c.conversation from log.conversations c join log.projects p using (project) where p.id = ? and c.id = ?`),
    audienceKey: database.prepare('select audience_key from log.lanes where lane = ?'),
    around: database.prepare('select position, lane from docs where conversation = ? and version between ? and ?'),
    having: database.prepare(
      'select rowid from words where words match ? and rowid in (select value from json_each(?))',
    ),
    hit: database.prepare(`
      select e.type, e.schema, e.message, e.lane, e.crc, e.body, e.at, e.version, c.id, c.info, c.project
      from log.events e join log.conversations c using (conversation) where e.position = ?`),
    show: database.prepare('insert into temp.shown (rowid, text) values (?, ?)'),
    snippets: database.prepare(`
      select rowid, snippet(shown, 0, '${marks.open}', '${marks.close}', '…', 40) from temp.shown where shown match ?`),
  }
  const blobs = blobLoader(database)

  function messages(query: SearchQuery): SearchHit[] {
    const terms = termsOf(query.text)
    const project = sql.project.get(query.project) as [number] | undefined
    if (terms.length === 0 || !project) return []
    const sees = visibleLanes(query.viewer ?? everything)
    const { limit = 20, offset = 0 } = query
    return present(ranked(offset + limit).slice(offset, offset + limit), terms)

    /** At least `count` of them, where there are so many. */
    function ranked(count: number): Candidate[] {
      const first = covering() ?? liftByNeighbours(having(anyOf(terms), blockSize), terms, sees)
      if (count <= first.length || first.length < blockSize) return first
      const wanted = wholeBlocks(count)
      const known = new Set(first.map(one => one.position))
      const others = having(anyOf(terms), wanted).filter(one => !known.has(one.position))
      const blocks = inBlocks(others.slice(0, wanted - first.length))
      return [...first, ...blocks.flatMap(block => liftByNeighbours(block, terms, sees))]
    }

    /**
     * A block of those that have every word, if there are enough of them. They come first anyway, and the others, which
     * have some frequent word, may be a hundred times as many: to look at them all takes ten times as long.
     */
    function covering(): Candidate[] | undefined {
      if (terms.length < 2) return undefined
      const found = having(allOf(terms), blockSize)
      return found.length < blockSize ? undefined : found.map(one => lifted(one, 1)).sort(byScore)
    }

    function having(match: string, most: number): Candidate[] {
      return candidates(query, project![0], { match, most, sees })
    }
  }

  function candidates(
    query: SearchQuery,
    project: number,
    { match, most, sees }: { match: string; most: number; sees: SeesLane },
  ): Candidate[] {
    // A name that cannot be stored is nobody's; bound as it is, it could be taken for a shorter one.
    const named = [query.conversationId, query.author, query.phase, query.participant, query.agent]
    if (named.some(name => name !== undefined && idProblem(name))) return []
    const { where, text, values } = conditions()
    where('words match ?', match)
    where('d.project = ?', project)
    if (query.conversationId !== undefined) {
      where(
        'd.conversation = (select conversation from log.conversations where project = ? and id = ?)',
        project,
        query.conversationId,
      )
    }
    if (query.author !== undefined) where('d.author = (select name from names where text = ?)', query.author)
    if (query.role !== undefined) where('d.role = (select name from names where text = ?)', query.role)
    if (query.phase !== undefined) where('d.phase = (select name from names where text = ?)', query.phase)
    if (query.before !== undefined) where('d.version < ?', query.before)
    if (query.since !== undefined) where('d.at >= ?', Date.parse(query.since))
    if (query.until !== undefined) where('d.at <= ?', Date.parse(query.until))
    conversationConditions(query, where, 'd.conversation')
    // `cross` keeps the order: the words first. Otherwise a range of versions is taken first, and each is looked up in them.
    const statement = database.prepare(`
      select d.position, d.conversation, d.version, d.lane, -bm25(words) as score
      from words cross join docs d on d.position = words.rowid
      where ${text()} order by rank`)
    const found: Candidate[] = []
    for (const row of statement.iterate(...values)) {
      const [position, conversation, version, lane, score] = row as [number, number, number, number, number]
      if (!sees(lane)) continue
      found.push({ position, conversation, version, lane, score })
      if (found.length === most) break
    }
    return found
  }

  function visibleLanes(viewer: Viewer): SeesLane {
    if (viewer.sees === 'everything') return () => true
    const known = new Map<number, boolean>()
    return lane => {
      let visible = known.get(lane)
      if (visible === undefined) {
        const row = sql.audienceKey.get(lane) as [string] | undefined
        const audience = row && audienceOfKey(row[0])
        visible = audience !== undefined && isVisible(audience, viewer)
        known.set(lane, visible)
      }
      return visible
    }
  }

  function liftByNeighbours(found: Candidate[], terms: readonly Term[], sees: SeesLane): Candidate[] {
    if (terms.length < 2 || found.length === 0) return found
    const neighbourhoods = found.map(one => {
      const rows = sql.around.all(one.conversation, one.version - neighbourReach, one.version + neighbourReach)
      return (rows as Array<[number, number]>).filter(([, lane]) => sees(lane)).map(([position]) => position)
    })
    const everywhere = JSON.stringify([...new Set(neighbourhoods.flat())])
    const having = terms.map(
      term => new Set((sql.having.all(term.match, everywhere) as Array<[number]>).map(([position]) => position)),
    )
    const ranked = found.map((one, index) => {
      let own = 0
      let near = 0
      for (const positions of having) {
        if (positions.has(one.position)) own++
        else if (neighbourhoods[index]!.some(position => positions.has(position))) near++
      }
      return lifted(one, (own + near / 2) / terms.length)
    })
    return ranked.sort(byScore)
  }

  function present(found: readonly Candidate[], terms: readonly Term[]): SearchHit[] {
    database.exec(
      `create virtual table temp.shown using fts5 (text, tokenize = 'porter unicode61 remove_diacritics 2')`,
    )
    try {
      return withSnippets(found, terms)
    } finally {
      // Any of them may be erased next. All at once: taking the words out one by one takes longer than the search.
      database.exec('drop table temp.shown')
    }
  }

  function withSnippets(found: readonly Candidate[], terms: readonly Term[]): SearchHit[] {
    const hits = new Map<number, SearchHit>()
    for (const one of found) {
      const row = sql.hit.get(one.position) as
        | [string, number, string | null, number | null, number, string | null, number, number, string, string, number]
        | undefined
      if (!row) continue
      const [type, schema, message, lane, crc, body, at, version, conversationId, infoText, project] = row
      const event = eventIn({ version, at, lane, type, schema, message, crc, body }, blobs(project))
      if (event.type !== 'message.added') continue
      const info = infoIn(infoText, conversationId)
      const text = searchableText(event.parts)
      // Marking every match of a very long text takes seconds; its beginning will do.
      sql.show.run(one.position, text.slice(0, longestShown))
      hits.set(one.position, {
        conversationId,
        title: info.title,
        messageId: event.messageId,
        version,
        author: event.author,
        role: event.role as Role,
        at: isoTime(at),
        archived: info.status === 'archived',
        snippet: text.slice(0, 200).replaceAll(seam, ''),
        highlights: [],
        score: one.score,
      })
    }
    for (const row of sql.snippets.all(anyOf(terms))) {
      const [position, marked] = row as [number, string]
      const hit = hits.get(position)
      if (hit) Object.assign(hit, unmark(marked))
    }
    return [...hits.values()]
  }

  function titles(query: TitleQuery): TitleHit[] {
    const project = sql.project.get(query.project) as [number] | undefined
    const named = [query.participant, query.agent, query.phase]
    if (!project || named.some(name => name !== undefined && idProblem(name))) return []
    const wanted = query.text.trim()
    const grams = trigramsOf(wanted)
    const { where, text, values } = conditions()
    where('c.project = ?', project[0])
    conversationConditions(query, where, 'c.conversation')
    if (query.phase !== undefined) where(`json_valid(c.info) and json_extract(c.info, '$.phase') = ?`, query.phase)
    if (query.since !== undefined) {
      const since = Date.parse(query.since)
      // Never before the minute of the last use, and in the row: only of those behind it the log is asked.
      where('c.recent_at >= ?', Math.floor(since / minute) * minute)
      where(usedSince('c.conversation'), since)
    }
    if (query.until !== undefined) where('c.created_at <= ?', Date.parse(query.until))
    // Nothing was asked for at all.
    if (wanted === '' && values.length === 1) return []
    // A text too short for trigrams is looked for as it is, in the most recent titles. `cross` as above: the titles first.
    const [from, order] =
      grams.size === 0
        ? ['log.conversations c', 'c.recent_at desc, c.conversation desc']
        : ['titles t cross join log.conversations c on c.conversation = t.rowid', 't.rank']
    if (grams.size > 0) where('titles match ?', anyGram(grams))
    const rows = database
      .prepare(
        `select c.id, c.info, c.recent_at from ${from} where ${text()} order by ${order} limit ${titlesLookedAt}`,
      )
      .all(...values) as Array<[string, string, number]>
    const { limit = 20, offset = 0 } = query
    return rows
      .flatMap(([conversationId, infoText, recentAt]) => {
        const { title, status, workItem } = infoIn(infoText, conversationId)
        const score = titleScore(title, wanted.toLowerCase(), grams)
        return score === 0 ? [] : [{ hit: { conversationId, title, status, workItem, score }, recentAt }]
      })
      .sort((a, b) => b.hit.score - a.hit.score || b.recentAt - a.recentAt)
      .slice(offset, offset + limit)
      .map(({ hit }) => hit)
  }

  function landmark({ project, conversationId, version }: Operations['landmark']['takes']): Landmark | undefined {
    if (idProblem(conversationId)) return undefined
    const found = sql.conversation.get(project, conversationId) as [number] | undefined
    return found && landmarks.find(found[0], version)
  }

  return { messages, titles, landmark }
}

/** 0 when it is not like what was asked for at all. */
function titleScore(title: string, wanted: string, grams: ReadonlySet<string>): number {
  if (wanted === '') return 1
  if (grams.size === 0) {
    return title.toLowerCase().includes(wanted) ? wanted.length / Math.max(wanted.length, title.length) : 0
  }
  const score = likeness(grams, trigramsOf(splitScript(title)))
  return score < leastLikeness ? 0 : score
}

function anyGram(grams: ReadonlySet<string>): string {
  return [...grams].map(gram => `"${gram.replaceAll('"', '""')}"`).join(' OR ')
}

function anyOf(terms: readonly Term[]): string {
  return terms.map(term => term.match).join(' OR ')
}

function allOf(terms: readonly Term[]): string {
  return terms.map(term => term.match).join(' AND ')
}

/** `coverage` is how much of what was asked for it has, a word nearby counted half. */
function lifted(one: Candidate, coverage: number): Candidate {
  return { ...one, score: one.score * (0.25 + coverage) }
}

function byScore(a: Candidate, b: Candidate): number {
  return b.score - a.score || b.position - a.position
}

/** Plain text and the places of the marks in it. */
function unmark(marked: string): Pick<SearchHit, 'snippet' | 'highlights'> {
  let snippet = ''
  const highlights: Array<[number, number]> = []
  let start = -1
  for (const character of marked.replaceAll(seam, '')) {
    if (character === marks.open) start = snippet.length
    else if (character === marks.close && start >= 0) {
      const last = highlights.at(-1)
      // Characters of unspaced scripts are marked one by one; side by side they are one match.
      if (last && last[1] === start) last[1] = snippet.length
      else highlights.push([start, snippet.length])
      start = -1
    } else snippet += character
  }
  return { snippet, highlights }
}

function infoIn(text: string, conversationId: string): ConversationInfo {
  return parsedOr(text, () => nameless({ project: '', conversationId }))
}
