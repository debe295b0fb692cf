/** Token counts of texts. A message is counted once, when it is written, and its count is stored. */
import type { TokenCount } from '../../log/events/message.ts'
import type { Part } from '../../log/events/part.ts'
import { imageTokens, isImage, whereOf } from './images.ts'

export interface TokenEstimator {
  /** Stored with each count, to tell counts of different estimators apart. */
  readonly name: string
  /** Counts synchronously, for texts that are put together on the way to a request. */
  count(text: string): number
  /** Asks the provider, once, when a message is written. Never fails, and says who counted. */
  ask?(text: string): Promise<TokenCount>
}

/**
 * By characters, aware of scripts and of encoded data: a token is about 4 characters of prose, 2 of base64 and other
 * unbroken runs, and 1 of Chinese, Japanese or Korean. Costs next to nothing and errs on the high side.
 */
export const fastEstimator: TokenEstimator = {
  name: 'fast',
  count(text) {
    let tokens = 0
    let run = 0
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i)
      if (code <= 32) {
        tokens += tokensOfRun(run)
        run = 0
      } else if (code >= 0x1100 && isWide(code)) tokens += 1
      else run++
    }
    return Math.ceil(tokens + tokensOfRun(run))
  },
}

/** A longer run than this is seldom a word: a path, a hash, base64. */
const longestWord = 24

/** A word takes its length by four and a little, the space before it included; an unbroken run takes half its length. */
function tokensOfRun(length: number): number {
  if (length === 0) return 0.05
  return length > longestWord ? length / 2 : length / 4.5 + 0.25
}

function isWide(code: number): boolean {
  return (
    code <= 0x11ff ||
    (code >= 0x2e80 && code <= 0x9fff) ||
    (code >= 0xac00 && code <= 0xd7af) ||
    (code >= 0xf900 && code <= 0xfaff) ||
    code >= 0xff00
  )
}

/** Counts all parts of a message. */
export function countParts(parts: readonly Part[], estimator: TokenEstimator): number {
  let tokens = 0
  for (const part of parts) {
    tokens += estimator.count(countedText(part))
    if (part.type === 'file' && isImage(part)) tokens += imageTokens
  }
  return tokens
}

/** Returns the count to store with a message. A promise only if a provider is asked. */
export function countForGood(parts: readonly Part[], estimator: TokenEstimator): TokenCount | Promise<TokenCount> {
  if (estimator.ask) return withImages(estimator.ask(parts.map(countedText).join('\n')), parts)
  return { count: countParts(parts, estimator), by: estimator.name }
}

/** Adds the images, which a provider's count of the text does not include. */
async function withImages(counted: Promise<TokenCount>, parts: readonly Part[]): Promise<TokenCount> {
  const { count, by } = await counted
  return { count: count + parts.filter(isImage).length * imageTokens, by }
}

function countedText(part: Part): string {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return part.text
    case 'tool-call':
      return `${part.name} ${part.callId} ${JSON.stringify(part.input)}`
    case 'tool-result':
      return `${part.callId} ${typeof part.output === 'string' ? part.output : JSON.stringify(part.output)}`
    case 'file':
      return [part.name, whereOf(part), part.text].filter(Boolean).join(' ')
    default:
      return part satisfies never
  }
}
