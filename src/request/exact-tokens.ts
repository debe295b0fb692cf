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
  return { name: 'o200k', count: text => pieces(text).reduce((sum, piece) => sum + countTokens(piece, options), 0) }
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
