/**
 * Counts exact o200k tokens, through gpt-tokenizer.
 *
 * Every BPE tokenizer is quadratic on long unbroken runs (100 kB of one character block for seconds). So runs longer
 * than 256 characters are cut first, which changes the count by about 0.1 %.
 */
import { fastEstimator, type TokenEstimator } from './tokens.ts'

/** Returns a function that gives the estimator of an option: at once, or for the first exact count after its tables. */
export function estimatorOf(tokens: 'exact' | 'fast' | TokenEstimator): () => TokenEstimator | Promise<TokenEstimator> {
  if (tokens === 'fast') return () => fastEstimator
  if (tokens !== 'exact') return () => tokens
  let exact: TokenEstimator | undefined
  let loading: Promise<TokenEstimator> | undefined
  return () => {
    if (exact) return exact
    loading ??= loadExactEstimator().then(loaded => {
      exact = loaded
      return loaded
    })
    return loading
  }
}

/** Loads the tables, which takes a moment; callers do it once, when the first message is counted. */
export async function loadExactEstimator(): Promise<TokenEstimator> {
  const { countTokens } = await import('gpt-tokenizer/encoding/o200k_base')
  // Text like <|endoftext|> in a message is text, not an instruction to the tokenizer.
  const options = { allowedSpecial: new Set<string>(), disallowedSpecial: new Set<string>() }
  const exactly = (text: string) => pieces(text).reduce((sum, piece) => sum + countTokens(piece, options), 0)
  return { name: 'o200k', count: countByWords(cached(exactly)) }
}

/** Longer words seldom occur twice. */
const maxCachedLength = 32
const maxCachedWords = 50_000

function cached(count: (text: string) => number): (text: string) => number {
  const cache = new Map<string, number>()
  return text => {
    if (text.length > maxCachedLength) return count(text)
    let tokens = cache.get(text)
    if (tokens === undefined) {
      tokens = count(text)
      if (cache.size >= maxCachedWords) cache.clear()
      cache.set(text, tokens)
    }
    return tokens
  }
}

/**
 * Counts word by word, because messages of one project are made of the same words. The sum is exact: no piece of o200k
 * spans a single space between two characters that are not spaces.
 */
function countByWords(countWord: (word: string) => number): (text: string) => number {
  return text => {
    let tokens = 0
    let start = 0
    for (let at = text.indexOf(' ', 1); at > 0; at = text.indexOf(' ', at + 1)) {
      if (at + 1 === text.length || isSpace(text.charCodeAt(at - 1)) || isSpace(text.charCodeAt(at + 1))) continue
      tokens += countWord(text.slice(start, at))
      start = at
    }
    return text === '' ? 0 : tokens + countWord(text.slice(start))
  }
}

function isSpace(code: number): boolean {
  return code <= 32 || (code >= 0x80 && /\s/u.test(String.fromCharCode(code)))
}

const longestRun = 256
/** Matches at most 4096 characters at a time: the expression keeps what it may backtrack over, which megabytes overflow. */
const unbroken = /\S{257,4096}|\s{257,4096}/g

function pieces(text: string): string[] {
  const clean = text.replaceAll('\ufeff', '')
  const parts: string[] = []
  let end = 0
  for (const match of clean.matchAll(unbroken)) {
    if (match.index > end) parts.push(clean.slice(end, match.index))
    for (let at = 0; at < match[0].length; at += longestRun) parts.push(match[0].slice(at, at + longestRun))
    end = match.index + match[0].length
  }
  if (end === 0) return [clean]
  if (end < clean.length) parts.push(clean.slice(end))
  return parts
}
