/**
 * Search among the messages of one conversation, as long as they are few, at a cost that depends on them and not on the
 * store: SQLite's own ranking reads through everything that has a word, wherever it stands, to say how rare it is.
 *
 * BM25 as SQLite has it, but for two things: how rare a word is comes with it, the same for a branch and its parent, and
 * how often it stands in a message is not asked.
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

/** What to look for: the words, beside them the rows `d` of what has them, and conditions. */
export interface Searched {
  from: string
  values: readonly Value[]
}

export interface WeighedTerm extends Term {
  /** How much it tells that a message has it. */
  weight: number
}

export type SeesLane = (lane: number) => boolean

interface Asked extends Searched {
  telling: readonly WeighedTerm[]
  sees: SeesLane
}

interface Ranked {
  found: Candidate[]
  /** Which of the conversation's messages have each of the words. */
  having: Array<ReadonlySet<number>>
}

type Row = [position: number, version: number, lane: number, sizes: Uint8Array | null]

export function searcherHere(database: Database) {
  const having = database.prepare('select rowid from words where words match ?')

  function ranked(conversation: number, { from, values, telling, sees }: Asked): Ranked {
    const statement = database.prepare(`
      select d.position, d.version, d.lane, (select sz from words_docsize where id = d.position) from ${from}`)
    const rows = (statement.all(...values) as Row[]).filter(([, , lane]) => sees(lane))
    if (rows.length === 0) return { found: [], having: [] }
    const mark = conversationMark(conversation)
    const toldBy = telling.map(({ match }) => positionsIn(having.all(textsLike(match, mark))))
    const lengths = rows.map(([, , , sizes]) => firstSize(sizes))
    const average = Math.max(1, lengths.reduce((sum, length) => sum + length, 0) / lengths.length)
    const found = rows.map(([position, version, lane], index): Candidate => {
      let weight = 0
      for (const [term, those] of toldBy.entries()) if (those.has(position)) weight += telling[term]!.weight
      return { position, conversation, version, lane, score: weight * prominence(1, lengths[index]!, average) }
    })
    return { found: found.sort(byScore), having: toldBy }
  }

  return { ranked }
}

export function positionsIn(rows: unknown[]): Set<number> {
  return new Set((rows as Array<[number]>).map(([position]) => position))
}

export function byScore(a: Candidate, b: Candidate): number {
  return b.score - a.score || b.position - a.position
}

/** How many words a text has, as FTS5 notes it: numbers of seven bits a byte, the highest first, one for each column. */
function firstSize(sizes: Uint8Array | null): number {
  let size = 0
  for (const byte of sizes ?? []) {
    size = size * 128 + (byte & 0x7f)
    if (byte < 0x80) break
  }
  return size
}
