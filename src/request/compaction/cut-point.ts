/** The message up to which a compaction summarises. */
import type { Part } from '../../log/events/part.ts'
import { messageSize } from '../text/sizes.ts'
import { cutsBetweenPairs } from './pair-cuts.ts'

/** The fields of a `Message` that the cut needs. */
export interface CuttableMessage {
  version: number
  role: string
  author: string
  parts: readonly Part[]
  tokens: { count: number }
}

interface CutInput {
  /** Newest last. */
  messages: readonly CuttableMessage[]
  /** Max size of the newest messages that stay word for word, by `messageSize`. */
  keepTokens: number
  /** Version of the message that the next request answers: it stays, and with a result its call. */
  trigger?: number | undefined
}

/**
 * Returns the version up to which to summarise, so that as much stays as `keepTokens` holds, or as little as possible
 * if it cannot. Undefined if there is nothing to summarise.
 *
 * Never between a tool call and its result. A turn that is too large is cut inside: its instruction stays in every
 * request, wherever it stands. An instruction that waits for its answer stays, and so do calls that still run. A call that
 * was left without a result earlier does not hold up the cut, or one aborted tool would do so for good; the request names it.
 */
export function cutPoint({ messages, keepTokens, trigger = Number.MAX_SAFE_INTEGER }: CutInput): number | undefined {
  const mayCutAfter = cutsBetweenPairs(messages)
  const end = Math.min(waitingInstruction(messages), runningCalls(messages))
  let kept = 0
  for (const message of messages) kept += messageSize(message)
  if (kept <= keepTokens) return undefined
  let last: number | undefined
  for (let at = 0; at < end && messages[at]!.version < trigger; at++) {
    kept -= messageSize(messages[at]!)
    if (!mayCutAfter[at]) continue
    last = messages[at]!.version
    if (kept <= keepTokens) return last
  }
  return last
}

/** Index of the newest user message, if nothing of an agent came after it. */
function waitingInstruction(messages: readonly CuttableMessage[]): number {
  const newest = messages.findLastIndex(({ role, parts }) => role === 'user' && saysSomething(parts))
  const isAnswered = messages.slice(newest + 1).some(({ role }) => role === 'assistant')
  return newest >= 0 && !isAnswered ? newest : messages.length
}

/** Index of the newest message with calls, if one of them still runs: it has no result, and its agent has not gone on. */
function runningCalls(messages: readonly CuttableMessage[]): number {
  const newest = messages.findLastIndex(({ parts }) => parts.some(part => part.type === 'tool-call'))
  if (newest < 0) return messages.length
  const { author, parts: calls } = messages[newest]!
  const later = messages.slice(newest + 1)
  if (later.some(message => message.role === 'assistant' && message.author === author)) return messages.length
  const answered = new Set<string>()
  for (const { parts } of messages.slice(newest))
    for (const part of parts) if (part.type === 'tool-result') answered.add(part.callId)
  const isRunning = calls.some(part => part.type === 'tool-call' && !answered.has(part.callId))
  return isRunning ? newest : messages.length
}

/** Tool results come in user messages too; those open no turn. */
function saysSomething(parts: readonly Part[]): boolean {
  return parts.some(part => part.type === 'text' || part.type === 'file')
}
