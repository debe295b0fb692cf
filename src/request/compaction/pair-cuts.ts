/** Positions where a list of messages may be cut without parting a tool call from its result. */
import type { Part } from '../../log/events/part.ts'

/**
 * For every message, whether a cut right after it keeps all pairs whole. Calls and results may be many messages apart,
 * several at once, and an id may be used again; a call without a result binds nothing.
 */
export function cutsBetweenPairs(messages: readonly { parts: readonly Part[] }[]): boolean[] {
  const calledAt = new Map<string, number>()
  // Number of pairs that begin (+) and end (−) at a position. The running sum is the number that a cut there would
  // part.
  const change = new Array<number>(messages.length + 1).fill(0)
  messages.forEach(({ parts }, at) => {
    for (const part of parts) {
      if (part.type === 'tool-call') calledAt.set(part.callId, at)
      else if (part.type === 'tool-result') {
        const start = calledAt.get(part.callId)
        if (start === undefined) continue
        change[start]!++
        change[at]!--
      }
    }
  })
  let open = 0
  return messages.map((_, at) => {
    open += change[at]!
    return open === 0
  })
}
