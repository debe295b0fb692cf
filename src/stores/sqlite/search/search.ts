/**
 * Search over the index: ranked by words (bm25), lifted by neighbours that have the words a message lacks.
 *
 * A question and its answer share few words. So a message counts as covering a query word also when one of the two
 * messages on either side has it.
 */

import type { Landmark } from '../../../log/directory.ts'
import { audienceOfKey } from '../../../log/events/audience.ts'
import { idProblem } from '../../../log/events/id.ts'
import type { Role } from '../../../log/events/message.ts'
import { shownInfo } from '../../../log/fold.ts'
import { eventIn } from '../../../log/records/stored-row.ts'
import type { SearchHit, SearchQuery } from '../../../log/search.ts'
import { isoTime, lastMomentOf } from '../../../log/time.ts'
import { everything, isVisible, type Viewer } from '../../../log/visibility.ts'
import { blockSize, inBlocks, rarity, wholeBlocks } from '../../common/ranking.ts'
import { type Term, termsOf } from '../../common/search-text/search-terms.ts'
import { seam, searchableText } from '../../common/search-text/searchable.ts'
import { blobLoader } from '../rows.ts'
import type { Operations } from '../worker/protocol.ts'
import { conversationMark, projectMark, textsLike } from './place-marks.ts'
import {
  byScore,
  type Candidate,
  positionsIn,
  type Searched,
  type SeesLane,
  searcherHere,
  type WeighedTerm,
} from './search-here.ts'
import type { SearchIndex } from './search-index.ts'
import { titleSearcher } from './search-titles.ts'
import { conditions, conversationConditions } from './searched-conversations.ts'

/** Where to look: a project, or one conversation of it; and the mark that everything there has, if that tells it apart. */
interface Place {
  project: number
  conversation?: number
  mark?: string
}

/**
 * What was asked for. Words that most messages have are worth nothing in a ranking, and to rank everything that has them
 * takes seconds: unless the others find nothing, they find nothing, and only lift what has them.
 */
interface Words {
  telling: readonly WeighedTerm[]
  common: readonly WeighedTerm[]
}

const neighbourReach = 2
/** How many messages have a word is judged by the newest. Where there are few, all may be ranked. */
const newest = { positions: 2000, leastMessages: 500 }
/** Of one conversation, so many are ranked one by one sooner than by SQLite, which looks at all conversations for it. */
const fewHere = 1000
const longestShown = 16 * 1024
const marks = { open: '\u0002', close: '\u0003' }

export function searcher({ database, landmarks }: SearchIndex) {
  const sql = {
    project: database.prepare('select project from log.projects where id = ?'),
    name: database.prepare('select 1 from names where text = ?'),
    conversation: database.prepare(`
      select c.conversation from log.conversations c join log.projects p using (project) where p.id = ? and c.id = ?`),
    audienceKey: database.prepare('select audience_key from log.lanes where lane = ?'),
    around: database.prepare('select position, lane from docs where conversation = ? and version between ? and ?'),
    // The plus keeps SQLite from looking up each row in each list of words by itself: reading the lists through is quicker.
    having: database.prepare(
      'select rowid from words where words match ? and +rowid in (select value from json_each(?))',
    ),
    count: database.prepare('select count(*) from (select 1 from words where words match ? limit ?)'),
    newest: database.prepare(`
      select count(*), (select max(position) from docs) - ${newest.positions} from docs
      where position > (select max(position) from docs) - ${newest.positions}`),
    newestHaving: database.prepare('select count(*) from words where words match ? and rowid > ?'),
    lookedUp: database.prepare(
      'select rowid from words where words match ? and rowid in (select value from json_each(?))',
    ),
    projects: database.prepare('select count(*) from (select 1 from log.projects limit 2)'),
    hit: database.prepare(`
      select e.type, e.schema, e.message, e.lane, e.crc, e.body, e.at, e.version, c.id, c.info, c.project
      from log.events e join log.conversations c using (conversation) where e.position = ?`),
    show: database.prepare('insert into temp.shown (rowid, text) values (?, ?)'),
    snippets: database.prepare(`
      select rowid, snippet(shown, 0, '${marks.open}', '${marks.close}', '…', 40) from temp.shown where shown match ?`),
  }
  const blobs = blobLoader(database)
  const here = searcherHere(database)

  function messages(query: SearchQuery): SearchHit[] {
    const asked = termsOf(query.text)
    const place = placeOf(query)
    if (asked.length === 0 || !place) return []
    const { limit = 20, offset = 0 } = query
    const words = wordsIn(asked)
    const { telling, common } = words
    let found = ranked(query, place, words, offset + limit)
    // What is searched has none of the telling words: a wrong letter in one must not hide what has the others.
    if (found.length === 0 && common.length > 0)
      found = ranked(query, place, { telling: [...telling, ...common], common: [] }, offset + limit)
    return present(found.slice(offset, offset + limit), asked)
  }

  /** At least `wanted` of them, where there are so many. */
  function ranked(query: SearchQuery, place: Place, words: Words, wanted: number): Candidate[] {
    const { telling } = words
    const sees = visibleLanes(query.viewer ?? everything)
    if (isFewHere()) return rankedHere()
    const first = covering() ?? lift(having(anyOf(telling), blockSize))
    if (wanted <= first.length || first.length < blockSize) return first
    const most = wholeBlocks(wanted)
    const known = new Set(first.map(one => one.position))
    const others = having(anyOf(telling), most).filter(one => !known.has(one.position))
    return [...first, ...inBlocks(others.slice(0, most - first.length)).flatMap(block => lift(block))]

    /**
     * A block of those that have every word, if there are enough of them. They come first anyway, and the others, which
     * have some frequent word, may be a hundred times as many: to look at them all takes ten times as long.
     */
    function covering(): Candidate[] | undefined {
      const all = allOf(telling)
      if (telling.length < 2 || count(textsLike(all, place.mark), blockSize) < blockSize) return undefined
      const found = having(all, blockSize)
      return found.length < blockSize ? undefined : lift(found, true)
    }

    function isFewHere(): boolean {
      return place.conversation !== undefined && count(textsLike(anyOf(telling), place.mark), fewHere + 1) <= fewHere
    }

    function rankedHere(): Candidate[] {
      const asked = searched(query, place, textsLike(anyOf(telling), place.mark))
      const { found, having } = here.ranked(place.conversation!, { ...asked, telling, sees })
      return inBlocks(found.slice(0, wholeBlocks(wanted))).flatMap(block =>
        liftByNeighbours(block, { words, sees, having: () => having }),
      )
    }

    function having(match: string, most: number): Candidate[] {
      return candidates(searched(query, place, textsLike(match, place.mark)), { most, sees })
    }

    function lift(found: Candidate[], haveAll = false): Candidate[] {
      if (haveAll) return liftByNeighbours(found, { words, sees })
      const having = (positions: readonly number[]) => {
        const among = JSON.stringify(positions)
        return telling.map(({ match }) => positionsIn(sql.having.all(textsLike(match, place.mark), among)))
      }
      return liftByNeighbours(found, { words, sees, having })
    }
  }

  /** How many have it, counted so far and not ranked. */
  function count(match: string, most: number): number {
    return (sql.count.get(match, most) as [number])[0]
  }

  function wordsIn(terms: readonly Term[]): Words {
    const [messages, before] = sql.newest.get() as [number, number]
    const weighed = terms.map(({ match }) => {
      const [having] = sql.newestHaving.get(textsLike(match), before) as [number]
      return { match, weight: rarity(having, messages), isCommon: having > messages / 2 }
    })
    const common = terms.length < 2 || messages < newest.leastMessages ? [] : weighed.filter(term => term.isCommon)
    if (common.length === terms.length) return { telling: weighed, common: [] }
    return { telling: weighed.filter(term => !common.includes(term)), common }
  }

  /** Undefined where there is no such project or conversation, or nobody who is asked for. */
  function placeOf({
    project: name,
    conversationId,
    author,
    role,
    phase,
    participant,
    agent,
  }: SearchQuery): Place | undefined {
    // A name that cannot be stored is nobody's; bound as it is, it could be taken for a shorter one.
    const named = [conversationId, author, phase, participant, agent]
    if (named.some(one => one !== undefined && idProblem(one))) return undefined
    const project = (sql.project.get(name) as [number] | undefined)?.[0]
    if (project === undefined) return undefined
    // Nobody need look through everything for what nobody said.
    if ([author, role, phase, participant].some(one => one !== undefined && !sql.name.get(one))) return undefined
    if (conversationId !== undefined) {
      const found = sql.conversation.get(name, conversationId) as [number] | undefined
      return found && { project, conversation: found[0], mark: conversationMark(found[0]) }
    }
    const [projects] = sql.projects.get() as [number]
    // Where there is no other project, all messages have its mark.
    return { project, ...(projects > 1 && { mark: projectMark(project) }) }
  }

  function candidates({ from, values }: Searched, { most, sees }: { most: number; sees: SeesLane }): Candidate[] {
    const statement = database.prepare(`
      select d.position, d.conversation, d.version, d.lane, -rank as score from ${from} order by rank`)
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

  /**
   * `having` gives which of some positions, or of all there are, have each of the telling words. Without it all of them
   * have every one, so nobody need look for those around them.
   */
  function liftByNeighbours(
    found: Candidate[],
    {
      words,
      sees,
      having,
    }: { words: Words; sees: SeesLane; having?: (positions: readonly number[]) => Array<ReadonlySet<number>> },
  ): Candidate[] {
    const { telling, common } = words
    if (telling.length + common.length < 2 || found.length === 0) return found
    const neighbourhoods = found.map(one => (having ? around(one, sees) : []))
    const toldBy = having?.([...new Set(neighbourhoods.flat())]) ?? []
    const themselves = JSON.stringify(found.map(one => one.position))
    const inCommon = common.map(({ match }) => positionsIn(sql.lookedUp.all(textsLike(match), themselves)))
    const ranked = found.map((one, index) => {
      let covered = having ? 0 : telling.length
      for (const having of toldBy) {
        if (having.has(one.position)) covered++
        else if (neighbourhoods[index]!.some(position => having.has(position))) covered += 0.5
      }
      for (const having of inCommon) if (having.has(one.position)) covered++
      return lifted(one, covered / (telling.length + common.length))
    })
    return ranked.sort(byScore)
  }

  function around({ conversation, version }: Candidate, sees: SeesLane): number[] {
    const rows = sql.around.all(conversation, version - neighbourReach, version + neighbourReach)
    return (rows as Array<[number, number]>).filter(([, lane]) => sees(lane)).map(([position]) => position)
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
      const info = shownInfo(infoText, conversationId)
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

  function landmark({ project, conversationId, version }: Operations['landmark']['takes']): Landmark | undefined {
    if (idProblem(conversationId)) return undefined
    const found = sql.conversation.get(project, conversationId) as [number] | undefined
    return found && landmarks.find(found[0], version)
  }

  return { messages, titles: titleSearcher(database), landmark }
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

/** What is asked of the index for one match. */
function searched(query: SearchQuery, { project, conversation }: Place, match: string): Searched {
  const { where, text, values } = conditions()
  where('words match ?', match)
  where('d.project = ?', project)
  if (conversation !== undefined) where('d.conversation = ?', conversation)
  if (query.author !== undefined) where('d.author = (select name from names where text = ?)', query.author)
  if (query.role !== undefined) where('d.role = (select name from names where text = ?)', query.role)
  if (query.phase !== undefined) where('d.phase = (select name from names where text = ?)', query.phase)
  if (query.before !== undefined) where('d.version < ?', query.before)
  if (query.since !== undefined) where('d.at >= ?', Date.parse(query.since))
  if (query.until !== undefined) where('d.at <= ?', lastMomentOf(query.until))
  conversationConditions(query, where, 'd.conversation')
  // `cross` keeps the order: the words first. Otherwise a range of versions is taken first, and each is looked up in them.
  return { from: `words cross join docs d on d.position = words.rowid where ${text()}`, values }
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
