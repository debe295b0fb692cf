/** Input larger than a model's window, in pieces that fit. */
import type { Message } from '../../log/views/message.ts'
import { cutsBetweenPairs } from './pair-cuts.ts'

/**
 * Messages in runs of at most `maxTokens`, none of which parts a tool call from its result. A pair that alone is larger
 * is a run of its own: its tool calls and results are shortened in the prompt anyway.
 */
export function chunkMessages(messages: readonly Message[], maxTokens: number): Message[][] {
  const mayCutAfter = cutsBetweenPairs(messages)
  const chunks: Message[][] = []
  let chunk: Message[] = []
  let chunkTokens = 0
  let group: Message[] = []
  let groupTokens = 0
  messages.forEach((message, at) => {
    group.push(message)
    groupTokens += message.tokens.count
    if (!mayCutAfter[at] && at < messages.length - 1) return
    if (chunk.length > 0 && chunkTokens + groupTokens > maxTokens) {
      chunks.push(chunk)
      chunk = []
      chunkTokens = 0
    }
    chunk.push(...group)
    chunkTokens += groupTokens
    group = []
    groupTokens = 0
  })
  if (chunk.length > 0) chunks.push(chunk)
  return chunks
}
