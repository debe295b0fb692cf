/** Up to which message to summarise. */
import type { Part } from '../../log/events/part.ts'
import { messageSize } from '../text/sizes.ts'
import { cutsBetweenPairs } from './pair-cuts.ts'

/** What the cut looks at; a `Message` is one. */
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
  /** How much of the newest may stay word for word, by the measure of requests (`messageSize`). */
  keepTokens: number
}

/**
 * The version up to which to summarise, so that what stays is as much as `keepTokens` holds, or as little as possible
 * when it cannot hold it; undefined when there is nothing to summarise.
 *
 * Never between a tool call and its result, and never inside the current turn: from the newest user message on,
 * everything stays. A call that was left without a result in an earlier turn does not hold up the cut, or one aborted
 * tool would hold it up for ever; it is carried on by name.
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

/** Where the current turn begins: at the newest user message, or else at the newest calls that still run. */
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
