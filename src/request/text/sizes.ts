/** Sizes of messages and sections in a request: the one measure that compaction and packer share. */
import { longestLabel } from './quote-untrusted.ts'

/** Upper bounds of the text around a message, a section or a part in a rendered request: labels, fences, blank lines. */
export const overhead = { message: 40, section: 30, part: 24 } as const

interface Sized {
  author: string
  tokens: { count: number }
  parts: readonly unknown[]
}

/** Returns the size of a message in a request: its stored count and the overhead around it. Nothing is counted again. */
export function messageSize({ author, tokens, parts }: Sized): number {
  return tokens.count + overhead.message + nameOverhead(author) + overhead.part * Math.max(0, parts.length - 1)
}

/** A name of this many bytes fits the overhead of every message, because a token has at least one byte. */
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

/** Size of the line that says how much was left out. */
export const noticeTokens = 40

export function sectionSize(tokens: number): number {
  return tokens === 0 ? 0 : tokens + overhead.section
}

/** Returns the size of a message that is only a text. */
export function textSize({ tokens, author }: { tokens: number; author: string }): number {
  return tokens + overhead.message + nameOverhead(author)
}

/** Returns the size of a message without the overhead that every message has. */
export function wholeSize(message: Sized): number {
  return messageSize(message) - overhead.message
}
