/** Shortens the tool results of an old message. The log keeps them whole; a marker says how to get them. */
import type { Part } from '../../log/events/part.ts'
import type { Message } from '../../log/views/message.ts'
import { countParts, type TokenEstimator } from '../text/tokens.ts'
import { trimText } from '../text/trim.ts'

export function shortenResults(message: Message, to: number, estimator: TokenEstimator): Message {
  if (!message.parts.some(part => part.type === 'tool-result')) return message
  let shortened = false
  const parts = message.parts.map((part): Part => {
    if (part.type !== 'tool-result') return part
    const text = typeof part.output === 'string' ? part.output : JSON.stringify(part.output)
    // Characters by four is a lower bound good enough to skip what is short anyway.
    if (text.length / 4 <= to) return part
    const tokens = estimator.count(text)
    const cut = trimText(text, { to, tokens, estimator, how: `expand message ${message.version} for all of it` })
    if (cut.cut === 0) return part
    shortened = true
    return { ...part, output: cut.text }
  })
  if (!shortened) return message
  return { ...message, parts, tokens: { count: countParts(parts, estimator), by: estimator.name } }
}
