/** The piece of a text around its matches, and the places of the matches in it. */
import type { SearchHit } from '../../../log/search.ts'
import { seam } from './searchable.ts'
import { type Word, wordsIn } from './words.ts'

const snippetWords = 40

/** Takes terms as stems in a row, and a text from `splitScript`, whose seams are dropped. */
export function snippetOf(
  text: string,
  terms: ReadonlyArray<readonly string[]>,
): Pick<SearchHit, 'snippet' | 'highlights'> {
  const words = wordsIn(text)
  const matches = matchesIn(words, terms)
  if (matches.length === 0) return { snippet: text.slice(0, 200).replaceAll(seam, ''), highlights: [] }
  const from = bestStart(words.length, matches)
  const to = Math.min(words.length, from + snippetWords)
  const start = from === 0 ? 0 : words[from]!.start
  const end = to === words.length ? text.length : words[to - 1]!.end
  let snippet = from === 0 ? '' : '…'
  let at = start
  const highlights: Array<[number, number]> = []
  for (const { first, last } of matches) {
    if (first < from || last >= to) continue
    snippet += withoutSeams(text.slice(at, words[first]!.start))
    const begin = snippet.length
    snippet += withoutSeams(text.slice(words[first]!.start, words[last]!.end))
    at = words[last]!.end
    const before = highlights.at(-1)
    // Characters of unspaced scripts are matched one by one; adjacent ones are one match.
    if (before && before[1] === begin) before[1] = snippet.length
    else highlights.push([begin, snippet.length])
  }
  snippet += withoutSeams(text.slice(at, end))
  return { snippet: to === words.length ? snippet : `${snippet}…`, highlights }
}

function withoutSeams(text: string): string {
  return text.replaceAll(seam, '')
}

interface Match {
  term: number
  first: number
  last: number
}

/** Finds matches in order, without overlap. Of several at one place, the longest counts. */
function matchesIn(words: readonly Word[], terms: ReadonlyArray<readonly string[]>): Match[] {
  const byFirst = new Map<string, number[]>()
  for (const [index, term] of terms.entries()) {
    if (term[0] !== undefined) byFirst.set(term[0], [...(byFirst.get(term[0]) ?? []), index])
  }
  const matches: Match[] = []
  let free = 0
  for (let first = 0; first < words.length; first++) {
    if (first < free) continue
    let longest: Match | undefined
    for (const term of byFirst.get(words[first]!.stem) ?? []) {
      const stems = terms[term]!
      const last = first + stems.length - 1
      if (longest && last <= longest.last) continue
      if (stems.every((stem, offset) => words[first + offset]?.stem === stem)) longest = { term, first, last }
    }
    if (!longest) continue
    matches.push(longest)
    free = longest.last + 1
  }
  return matches
}

/** The first word of the piece that has most of the terms. */
function bestStart(count: number, matches: readonly Match[]): number {
  if (count <= snippetWords) return 0
  let best = { score: -1, first: 0, last: 0 }
  for (const [index, { first }] of matches.entries()) {
    const within: Match[] = []
    for (let i = index; i < matches.length && matches[i]!.last < first + snippetWords; i++) within.push(matches[i]!)
    const score = new Set(within.map(match => match.term)).size * 1000 + within.length
    if (score > best.score) best = { score, first, last: within.at(-1)?.last ?? first }
  }
  // Puts the match in the middle rather than at the edge.
  const room = snippetWords - (best.last - best.first + 1)
  return Math.max(0, Math.min(best.first - Math.floor(room / 2), count - snippetWords))
}
