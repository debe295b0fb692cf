/**
 * Ranks the messages of one conversation, as long as they are few, at a cost that depends on them alone. SQLite's own
 * ranking reads everything in the store that has a word, to know how rare the word is.
 *
 * BM25 as SQLite has it, with two differences: the rarity of a word is given, the same for a branch and its parent, and
 * how often a word appears in a message does not count.
 */
import { prominence } from '../../common/ranking.ts'
import type { Term } from '../../common/search-text/search-terms.ts'
import type { Database } from '../database.ts'
import type { Value } from '../statement.ts'
import { conversationMark, textsLike } from './place-marks.ts'

export interface Candidate {
  position: number
  conversation: number
  version: number
  lane: number
  score: number
}

/** The part of a query behind `from`: the words, their rows `d`, and conditions. */
export interface SearchedRows {
  from: string
  values: readonly Value[]
}

export interface WeighedTerm extends Term {
  /** Rare words weigh more. */
  weight: number
}

export type SeesLane = (lane: number) => boolean

interface ConversationQuery extends SearchedRows {
  telling: readonly WeighedTerm[]
  sees: SeesLane
}

interface RankedConversation {
  best: Candidate[]
  /** For each of the words, the positions in the conversation that have it. */
  positions: Array<ReadonlySet<number>>
}

type Row = [position: number, version: number, lane: number, sizes: Uint8Array | null]

export function conversationRanking(database: Database) {
  const matching = database.prepare('select rowid from words where words match ?')

  return (conversation: number, { from, values, telling, sees }: ConversationQuery): RankedConversation => {
    const statement = database.prepare(`
      select d.position, d.version, d.lane, (select sz from words_docsize where id = d.position) from ${from}`)
    const rows = (statement.all(...values) as Row[]).filter(([, , lane]) => sees(lane))
    if (rows.length === 0) return { best: [], positions: [] }
    const mark = conversationMark(conversation)
    const positions = telling.map(({ match }) => positionsIn(matching.all(textsLike(match, mark))))
    const lengths = rows.map(([, , , sizes]) => firstSize(sizes))
    const average = Math.max(1, lengths.reduce((sum, length) => sum + length, 0) / lengths.length)
    const candidates = rows.map(([position, version, lane], index): Candidate => {
      let weight = 0
      for (const [term, those] of positions.entries()) if (those.has(position)) weight += telling[term]!.weight
      return { position, conversation, version, lane, score: weight * prominence(1, lengths[index]!, average) }
    })
    return { best: candidates.sort(byScore), positions }
  }
}

export function positionsIn(rows: unknown[]): Set<number> {
  return new Set((rows as Array<[number]>).map(([position]) => position))
}

export function byScore(a: Candidate, b: Candidate): number {
  return b.score - a.score || b.position - a.position
}

/** The number of words in a text, as FTS5 stores it: seven bits a byte, the highest first, one number a column. */
function firstSize(sizes: Uint8Array | null): number {
  let size = 0
  for (const byte of sizes ?? []) {
    size = size * 128 + (byte & 0x7f)
    if (byte < 0x80) break
  }
  return size
}
