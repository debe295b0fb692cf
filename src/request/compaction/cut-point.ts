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
}

/**
 * Returns the version up to which to summarise, so that as much stays as `keepTokens` holds, or as little as possible
 * if it cannot. Undefined if there is nothing to summarise.
 *
 * Never cuts between a tool call and its result, nor inside the current turn: everything from the newest user message
 * on stays. A call without a result in an earlier turn does not hold up the cut; it is carried on by name.
 */
export function cutPoint({ messages, keepTokens }: CutInput): number | undefined {
  const mayCutAfter = cutsBetweenPairs(messages)
  const turn = startOfTurn(messages)
  let kept = 0
  for (const message of messages) kept += messageSize(message)
  if (kept <= keepTokens) return undefined
  let last: number | undefined
  for (let at = 0; at < turn; at++) {
    kept -= messageSize(messages[at]!)
    if (!mayCutAfter[at]) continue
    last = messages[at]!.version
    if (kept <= keepTokens) return last
  }
  return last
}

/** The start of the current turn: the newest user message, or else the newest calls that still run. */
function startOfTurn(messages: readonly CuttableMessage[]): number {
  const newest = messages.findLastIndex(message => message.role === 'user' && saysSomething(message.parts))
  if (newest >= 0) return newest
  const callsAt = messages.findLastIndex(({ parts }) => parts.some(part => part.type === 'tool-call'))
  if (callsAt < 0) return messages.length
  const answered = new Set<string>()
  for (const { parts } of messages.slice(callsAt)) {
    for (const part of parts) if (part.type === 'tool-result') answered.add(part.callId)
  }
  const running = messages[callsAt]!.parts.some(part => part.type === 'tool-call' && !answered.has(part.callId))
  return running ? callsAt : messages.length
}

/** Tool results come in user messages too; those open no turn. */
function saysSomething(parts: readonly Part[]): boolean {
  return parts.some(part => part.type === 'text' || part.type === 'file')
}
