/** How large a request may be, and the one measure that trigger and packer share. */
import { longestLabel } from '../text/quote-untrusted.ts'

/** What stands around a message or a section in a rendered request, at the most: labels, fences, blank lines. */
export const overhead = { message: 40, section: 30, part: 24 } as const

interface BudgetInput {
  /** What the project allows. */
  configured: number
  /** The model's context window. */
  contextWindow: number
  /** Room for the answer. */
  outputReserve: number
  /** Room for what providers add on their own. */
  buffer: number
  /** Most tokens of a request, where the provider bounds it by itself. */
  inputLimit?: number | undefined
  /** The share of the window a request may take at the most. */
  windowShare?: number
}

/** All percentages are of this. */
export function requestBudget(input: BudgetInput): number {
  const { configured, contextWindow, outputReserve, buffer, inputLimit, windowShare = 1 } = input
  const limits = [configured, contextWindow - Math.max(outputReserve, buffer), Math.floor(contextWindow * windowShare)]
  if (inputLimit !== undefined) limits.push(inputLimit - buffer)
  return Math.max(0, Math.min(...limits))
}

interface Sized {
  author: string
  tokens: { count: number }
  parts: readonly unknown[]
}

/** What a message takes in a request: its stored count and what stands around it, never counted again. */
export function messageSize({ author, tokens, parts }: Sized): number {
  return tokens.count + overhead.message + nameOverhead(author) + overhead.part * Math.max(0, parts.length - 1)
}

/** A name of this many bytes has room in what every message has around it. A token has at least one byte. */
const shortName = 16

function nameOverhead(author: string): number {
  if (author.length * 3 <= shortName) return 0
  return Math.max(0, Buffer.byteLength(author.slice(0, longestLabel)) - shortName)
}

export function sizeOf(messages: readonly Sized[]): number {
  let size = 0
  for (const message of messages) size += messageSize(message)
  return size
}

/** What a line that says how much was left out takes. */
export const noticeTokens = 40

export function sectionSize(tokens: number): number {
  return tokens === 0 ? 0 : tokens + overhead.section
}

/** A message that is no more than a text. */
export function textSize({ tokens, author }: { tokens: number; author: string }): number {
  return tokens + overhead.message + nameOverhead(author)
}
