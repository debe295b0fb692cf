/**
 * Ranks messages by their words (BM25), raised by neighbours that have the words a message lacks.
 *
 * A question and its answer share few words. So a message counts as covering a query word also when one of the two
 * messages on either side has it.
 */
import type { SearchQuery } from '../../../log/search.ts'
import { lastMomentOf } from '../../../log/time.ts'
import { blockSize, inBlocks, wholeBlocks } from '../../common/ranking.ts'
import type { Term } from '../../common/search-text/search-terms.ts'
import type { Database } from '../database.ts'
import { conditions, conversationConditions } from './conversation-conditions.ts'
import {
  byScore,
  type Candidate,
  conversationRanking,
  positionsIn,
  type SearchedRows,
  type SeesLane,
  type WeighedTerm,
} from './conversation-ranking.ts'
import { textsLike } from './place-marks.ts'

/** A project, or one conversation of it. `mark` is a word that every message there has, where others lack it. */
export interface SearchPlace {
  project: number
  conversation?: number
  mark?: string
}

/**
 * The words of a query. Words that most messages have are worth nothing in a ranking, and ranking everything that has
 * them takes seconds. So `common` words find nothing unless the others find nothing; they only raise what has them.
 */
export interface QueryWords {
  telling: readonly WeighedTerm[]
  common: readonly WeighedTerm[]
}

interface RankedQuery {
  query: SearchQuery
  place: SearchPlace
  words: QueryWords
  sees: SeesLane
}

/** Returns the positions that have each of the telling words, among those that are given. */
type WordPositions = (positions: readonly number[]) => Array<ReadonlySet<number>>

const neighbourReach = 2
/** Up to so many matches in one conversation are ranked without SQLite's ranking, which reads the whole store. */
const maxOfConversation = 1000

export function messageRanking(database: Database) {
  const sql = {
    around: database.prepare('select position, lane from docs where conversation = ? and version between ? and ?'),
    // The plus makes SQLite read the list of a word through, which is quicker than looking up each row in it.
    among: database.prepare(
      'select rowid from words where words match ? and +rowid in (select value from json_each(?))',
    ),
    lookedUp: database.prepare(
      'select rowid from words where words match ? and rowid in (select value from json_each(?))',
    ),
    count: database.prepare('select count(*) from (select 1 from words where words match ? limit ?)'),
  }
  const ofConversation = conversationRanking(database)

  /** Returns at least `wanted` candidates, best first, where there are so many. */
  function ranked(ranking: RankedQuery, wanted: number): Candidate[] {
    const { place, words } = ranking
    const anyWord = textsLike(anyOf(words.telling), place.mark)
    if (place.conversation !== undefined && count(anyWord, maxOfConversation + 1) <= maxOfConversation) {
      return rankedInConversation(ranking, place.conversation, wanted)
    }
    const best = covering(ranking) ?? raised(ranking, candidates(ranking, anyWord, blockSize))
    if (wanted <= best.length || best.length < blockSize) return best
    const most = wholeBlocks(wanted)
    const known = new Set(best.map(candidate => candidate.position))
    const others = candidates(ranking, anyWord, most).filter(candidate => !known.has(candidate.position))
    return [...best, ...inBlocks(others.slice(0, most - best.length)).flatMap(block => raised(ranking, block))]
  }

  /**
   * One block of candidates that have every word, if there are enough. They come first anyway, and messages with only
   * some frequent word may be a hundred times as many.
   */
  function covering(ranking: RankedQuery): Candidate[] | undefined {
    const { place, words } = ranking
    const everyWord = textsLike(allOf(words.telling), place.mark)
    if (words.telling.length < 2 || count(everyWord, blockSize) < blockSize) return undefined
    const block = candidates(ranking, everyWord, blockSize)
    return block.length < blockSize ? undefined : raisedByNeighbours(block, ranking)
  }

  function rankedInConversation(ranking: RankedQuery, conversation: number, wanted: number): Candidate[] {
    const { query, place, words, sees } = ranking
    const rows = searchedRows(query, place, textsLike(anyOf(words.telling), place.mark))
    const { best, positions } = ofConversation(conversation, { ...rows, telling: words.telling, sees })
    return inBlocks(best.slice(0, wholeBlocks(wanted))).flatMap(block =>
      raisedByNeighbours(block, ranking, () => positions),
    )
  }

  function raised(ranking: RankedQuery, block: Candidate[]): Candidate[] {
    const { place, words } = ranking
    return raisedByNeighbours(block, ranking, positions => {
      const among = JSON.stringify(positions)
      return words.telling.map(({ match }) => positionsIn(sql.among.all(textsLike(match, place.mark), among)))
    })
  }

  /** Without `having`, every candidate has each of the telling words, and neighbours add nothing. */
  function raisedByNeighbours(
    block: Candidate[],
    { words: { telling, common }, sees }: RankedQuery,
    having?: WordPositions,
  ): Candidate[] {
    if (telling.length + common.length < 2 || block.length === 0) return block
    const neighbourhoods = block.map(candidate => (having ? around(candidate, sees) : []))
    const tellingPositions = having?.([...new Set(neighbourhoods.flat())]) ?? []
    const own = JSON.stringify(block.map(candidate => candidate.position))
    const commonPositions = common.map(({ match }) => positionsIn(sql.lookedUp.all(textsLike(match), own)))
    const raised = block.map((candidate, index) => {
      let covered = having ? 0 : telling.length
      for (const positions of tellingPositions) {
        if (positions.has(candidate.position)) covered++
        else if (neighbourhoods[index]!.some(position => positions.has(position))) covered += 0.5
      }
      for (const positions of commonPositions) if (positions.has(candidate.position)) covered++
      return raisedBy(candidate, covered / (telling.length + common.length))
    })
    return raised.sort(byScore)
  }

  function around({ conversation, version }: Candidate, sees: SeesLane): number[] {
    const rows = sql.around.all(conversation, version - neighbourReach, version + neighbourReach)
    return (rows as Array<[number, number]>).filter(([, lane]) => sees(lane)).map(([position]) => position)
  }

  /** Counts matches up to a maximum, without ranking them. */
  function count(match: string, most: number): number {
    return (sql.count.get(match, most) as [number])[0]
  }

  function candidates({ query, place, sees }: RankedQuery, match: string, most: number): Candidate[] {
    const { from, values } = searchedRows(query, place, match)
    const statement = database.prepare(`
      select d.position, d.conversation, d.version, d.lane, -rank as score from ${from} order by rank`)
    const best: Candidate[] = []
    for (const row of statement.iterate(...values)) {
      const [position, conversation, version, lane, score] = row as [number, number, number, number, number]
      if (!sees(lane)) continue
      best.push({ position, conversation, version, lane, score })
      if (best.length === most) break
    }
    return best
  }

  return ranked
}

export function anyOf(terms: readonly Term[]): string {
  return terms.map(term => term.match).join(' OR ')
}

function allOf(terms: readonly Term[]): string {
  return terms.map(term => term.match).join(' AND ')
}

/** `coverage` is the share of the query's words that a message has; a word nearby counts half. */
function raisedBy(candidate: Candidate, coverage: number): Candidate {
  return { ...candidate, score: candidate.score * (0.25 + coverage) }
}

/** The rows that have a match and pass the filters of the query. */
function searchedRows(query: SearchQuery, { project, conversation }: SearchPlace, match: string): SearchedRows {
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
  // `cross` makes SQLite take the words first, and not a range of versions.
  return { from: `words cross join docs d on d.position = words.rowid where ${text()}`, values }
}
