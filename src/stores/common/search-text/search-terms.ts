/** What a person typed, as full-text terms. Every word is quoted, so no input is a syntax error. */
import { splitScript } from './searchable.ts'

export interface Term {
  /** An FTS5 string that matches the word, or the words in a row. */
  match: string
}

/** More would make a query of a pasted page slow without making it better. */
const mostTerms = 32

export function termsOf(text: string): Term[] {
  const terms = new Map<string, Term>()
  // "Quoted words", or single ones; whatever is left over (operators, brackets, stray quotes) is not searched for.
  for (const [, quoted, word] of text.matchAll(/"([^"]*)"|([\p{L}\p{N}\p{M}]+)/gu)) {
    const words = wordsIn(quoted ?? word ?? '')
    if (words.length === 0) continue
    const match = `"${words.join(' ')}"`
    terms.set(match.toLowerCase(), { match })
    if (terms.size === mostTerms) break
  }
  return [...terms.values()]
}

function wordsIn(text: string): string[] {
  return splitScript(text).match(/[\p{L}\p{N}\p{M}]+/gu) ?? []
}

/** The three-character pieces of a title or a query, in lower case. */
export function trigramsOf(text: string): Set<string> {
  const characters = [...splitScript(text).toLowerCase().trim()]
  const grams = new Set<string>()
  for (let i = 0; i + 3 <= characters.length; i++) grams.add(characters.slice(i, i + 3).join(''))
  return grams
}

/** How much of the query is in the title (mostly), and of the title in the query. */
function likeness(query: ReadonlySet<string>, title: ReadonlySet<string>): number {
  let common = 0
  for (const gram of query) if (title.has(gram)) common++
  return 0.8 * (common / query.size) + 0.2 * (common / Math.max(1, title.size))
}

const leastLikeness = 0.2

/** How well a title answers; 0 when it is not like what was asked for at all. `grams` are those of `wanted`. */
export function titleScore(title: string, wanted: string, grams: ReadonlySet<string>): number {
  if (wanted === '') return 1
  if (grams.size === 0) {
    const [text, part] = [title, wanted].map(one => splitScript(one).toLowerCase()) as [string, string]
    return text.includes(part) ? part.length / Math.max(part.length, text.length) : 0
  }
  const score = likeness(grams, trigramsOf(title))
  return score < leastLikeness ? 0 : score
}
