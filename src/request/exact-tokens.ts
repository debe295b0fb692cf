/**
 * Exact o200k counts, through gpt-tokenizer.
 *
 * Every BPE tokenizer is quadratic on long unbroken runs (100 kB of one character block for seconds), so runs longer
 * than 256 characters are cut first; that changes the count by about 0.1 %.
 */
import type { TokenEstimator } from './tokens.ts'

/** Loads the tables, which takes a moment; so it is done once, when the first message is counted. */
export async function loadExactEstimator(): Promise<TokenEstimator> {
  const { countTokens } = await import('gpt-tokenizer/encoding/o200k_base')
  // Text like <|endoftext|> in a message is text, not an instruction to the tokenizer.
  const options = { allowedSpecial: new Set<string>(), disallowedSpecial: new Set<string>() }
  const exactly = (text: string) => pieces(text).reduce((sum, piece) => sum + countTokens(piece, options), 0)
  const byPieces = countByPieces(exactly)
  const byWords = countByWords(word => (fitsInPieces(word) ? byPieces(word) : exactly(word)))
  return { name: 'o200k', count: text => (fitsInPieces(text) ? byPieces(text) : byWords(text)) }
}

/** Words and pieces longer than this are seldom met again. */
const longestKnown = 32
const mostKnown = 50_000
/** All pieces of a text are in memory at once; a longer one is taken word by word. */
const longestInPieces = 16 * 1024

const ascii = /^[\0-\x7f]*$/

function fitsInPieces(text: string): boolean {
  return text.length <= longestInPieces && ascii.test(text)
}

/**
 * How o200k cuts a text before it merges bytes, for ASCII alone, without the classes of Unicode. A
 * piece for itself is cut no further, so that its count can be remembered.
 */
const contraction = `(?:'(?:[sSdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE]))?`
const asciiPieces = new RegExp(
  [
    `[^\\r\\nA-Za-z0-9]?[A-Z]*[a-z]+${contraction}`,
    `[^\\r\\nA-Za-z0-9]?[A-Z]+[a-z]*${contraction}`,
    '[0-9]{1,3}',
    ' ?[^\\sA-Za-z0-9]+[\\r\\n/]*',
    '\\s*[\\r\\n]+',
    '\\s+(?!\\S)',
    '\\s+',
  ].join('|'),
  'g',
)

/** Counts ASCII piece by piece and remembers pieces: of paths and symbols, too, most parts were met before. */
function countByPieces(exactly: (text: string) => number): (text: string) => number {
  const piece = remembering(exactly)
  return text => {
    let tokens = 0
    for (const one of text.match(asciiPieces) ?? []) tokens += piece(one)
    return tokens
  }
}

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
const unbroken = /\S{257,}|\s{257,}/g

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
