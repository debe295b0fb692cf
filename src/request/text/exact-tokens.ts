/**
 * Exact o200k counts, through gpt-tokenizer.
 *
 * Every BPE tokenizer is quadratic on long unbroken runs (100 kB of one character block for seconds), so runs longer
 * than 256 characters are cut first; that changes the count by about 0.1 %.
 */
import { countByPieces } from './ascii-pieces.ts'
import type { TokenEstimator } from './tokens.ts'

/** Loads the tables, which takes a moment; so it is done once, when the first message is counted. */
export async function loadExactEstimator(): Promise<TokenEstimator> {
  const { countTokens } = await import('gpt-tokenizer/encoding/o200k_base')
  // Text like <|endoftext|> in a message is text, not an instruction to the tokenizer.
  const options = { allowedSpecial: new Set<string>(), disallowedSpecial: new Set<string>() }
  const exactly = (text: string) => pieces(text).reduce((sum, piece) => sum + countTokens(piece, options), 0)
  const byPieces = countByPieces(exactly)
  const byWords = countByWords(word => (ascii.test(word) ? byPieces(word) : exactly(word)))
  return { name: 'o200k', count: text => (ascii.test(text) ? byPieces(text) : byWords(text)) }
}

/** Longer words are seldom met again. */
const longestKnown = 32
const mostKnown = 50_000
const ascii = /^[\0-\x7f]*$/

function remembering(count: (text: string) => number): (text: string) => number {
  const known = new Map<string, number>()
  return text => {
    if (text.length > longestKnown) return count(text)
    let tokens = known.get(text)
    if (tokens === undefined) {
      tokens = count(text)
      if (known.size >= mostKnown) known.clear()
      known.set(text, tokens)
    }
    return tokens
  }
}

/**
 * Counts word by word and remembers words: messages of one project are made of the same ones. The sum is exact, because
 * no piece of o200k reaches over a single space between two things that are not spaces.
 */
function countByWords(exactly: (text: string) => number): (text: string) => number {
  const word = remembering(exactly)
  return text => {
    let tokens = 0
    let start = 0
    for (let at = text.indexOf(' ', 1); at > 0; at = text.indexOf(' ', at + 1)) {
      if (at + 1 === text.length || isSpace(text.charCodeAt(at - 1)) || isSpace(text.charCodeAt(at + 1))) continue
      tokens += word(text.slice(start, at))
      start = at
    }
    return text === '' ? 0 : tokens + word(start === 0 ? text : text.slice(start))
  }
}

function isSpace(code: number): boolean {
  return code <= 32 || (code >= 0x80 && /\s/u.test(String.fromCharCode(code)))
}

const longestRun = 256
/** So many at a time: what a regular expression may have to give back again it keeps, and megabytes are too much for it. */
const unbroken = /\S{257,4096}|\s{257,4096}/g

function pieces(text: string): string[] {
  const clean = text.replaceAll('\ufeff', '')
  const found: string[] = []
  let end = 0
  for (const match of clean.matchAll(unbroken)) {
    if (match.index > end) found.push(clean.slice(end, match.index))
    for (let at = 0; at < match[0].length; at += longestRun) found.push(match[0].slice(at, at + longestRun))
    end = match.index + match[0].length
  }
  if (end === 0) return [clean]
  if (end < clean.length) found.push(clean.slice(end))
  return found
}
