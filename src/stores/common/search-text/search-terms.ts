/** Full-text terms of what a person typed. Every word is quoted, so no input is a syntax error. */
import { splitScript } from './searchable.ts'

export interface Term {
  /** An FTS5 string that matches the word, or the words in a row. */
  match: string
}

/** A pasted page would make a slow query that finds no more. */
const maxTerms = 32

export function termsOf(text: string): Term[] {
  const terms = new Map<string, Term>()
  // "Quoted words", or single ones. Operators, brackets and stray quotes are ignored.
  for (const [, quoted, word] of text.matchAll(/"([^"]*)"|([\p{L}\p{N}\p{M}]+)/gu)) {
    const words = wordsIn(quoted ?? word ?? '')
    if (words.length === 0) continue
    const match = `"${words.join(' ')}"`
    terms.set(match.toLowerCase(), { match })
    if (terms.size === maxTerms) break
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

/** Compares a query with a title: mostly the share of the query in the title, and a little the other way round. */
function likeness(query: ReadonlySet<string>, title: ReadonlySet<string>): number {
  let common = 0
  for (const gram of query) if (title.has(gram)) common++
  return 0.8 * (common / query.size) + 0.2 * (common / Math.max(1, title.size))
}

const minLikeness = 0.2

/** Scores a title from 0 (unlike the query) to 1. `grams` are those of `wanted`. */
export function titleScore(title: string, wanted: string, grams: ReadonlySet<string>): number {
  if (wanted === '') return 1
  if (grams.size === 0) {
    const [text, part] = [title, wanted].map(side => splitScript(side).toLowerCase()) as [string, string]
    return text.includes(part) ? part.length / Math.max(part.length, text.length) : 0
  }
  const score = likeness(grams, trigramsOf(title))
  return score < minLikeness ? 0 : score
}
