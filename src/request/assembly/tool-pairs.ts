/** Tool calls and their results: found together, never parted. */
import type { Message } from '../../log/views/message.ts'

/** Returns the number of messages to drop, at least `count`, so that no kept result misses its call. */
export function earliestWholeCut(messages: readonly Message[], count: number): number {
  let cut = Math.min(count, messages.length)
  // A result behind the cut whose call lies before it pulls the cut behind the result.
  const calledAt = new Map<string, number>()
  messages.forEach((message, index) => {
    for (const part of message.parts)
      if (part.type === 'tool-call' && !calledAt.has(part.callId)) calledAt.set(part.callId, index)
  })
  for (let index = cut; index < messages.length; index++) {
    for (const part of messages[index]!.parts) {
      if (part.type !== 'tool-result') continue
      const call = calledAt.get(part.callId)
      // Without a call in sight it is an orphan already, or its call is older than what was read.
      if (call === undefined || (call < cut && index >= cut)) cut = index + 1
    }
  }
  return cut
}
