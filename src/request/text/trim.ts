/** Shortens a text to a number of tokens, with a marker that says so and how to get the rest. */
import { closeFence } from './quote-untrusted.ts'
import type { TokenEstimator } from './tokens.ts'

interface Trimmed {
  text: string
  tokens: number
  /** Number of tokens that were cut. */
  cut: number
}

interface TrimOptions {
  to: number
  tokens: number
  estimator: TokenEstimator
  how: string
  /**
   * Keeps both ends of a foreign text, because errors stand at the end of an output and names at its beginning. Of a
   * text of ours with fences, keeps only the beginning: an end would stand outside of its fence.
   */
  keep?: 'ends' | 'beginning'
}

export function trimText(text: string, { to, tokens, estimator, how, keep: what = 'ends' }: TrimOptions): Trimmed {
  if (tokens <= to) return { text, tokens, cut: 0 }
  const marker = (cut: number) => `\n[… ${cut} tokens left out; ${how} …]\n`
  const room = to - estimator.count(marker(tokens)) - 4
  if (room <= 0) return { text: '', tokens: 0, cut: tokens }
  let share = room / tokens
  for (;;) {
    const keep = Math.floor(text.length * share)
    const head =
      what === 'beginning' ? closeFence(whole(text.slice(0, keep))) : whole(text.slice(0, Math.ceil(keep * 0.7)))
    const tail = what === 'ends' && keep > 3 ? whole(text.slice(text.length - Math.floor(keep * 0.3))) : ''
    const cut = tokens - estimator.count(head) - estimator.count(tail)
    const shortened = `${head}${marker(Math.max(1, cut))}${tail}`
    const size = estimator.count(shortened)
    if (size <= to) return { text: shortened, tokens: size, cut: tokens - size }
    // Denser than the average: take less. Each step shrinks, so this ends.
    share *= 0.8
    if (share < 0.001) return { text: '', tokens: 0, cut: tokens }
  }
}

/** No half characters at the seams. */
function whole(text: string): string {
  return text.isWellFormed() ? text : text.toWellFormed().replaceAll('\ufffd', '')
}
