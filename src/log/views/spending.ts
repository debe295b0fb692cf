/** The tokens and cost of an event, with agent and model. */
import type { StoredEvent } from '../events/event.ts'

export interface Spent {
  agent: string
  /** Undefined when no model was called. */
  model: string | undefined
  messages: number
  tokens: number
  input: number
  output: number
  cost: number
  calls: number
  unpriced: number
}

/** Undefined for events without usage. */
export function spentIn(event: StoredEvent): Spent | undefined {
  if (event.type === 'message.added') {
    const { usage, tokens, author, metadata } = event
    return {
      agent: author,
      model: usage ? (typeof metadata?.model === 'string' ? metadata.model : 'unknown') : undefined,
      messages: 1,
      tokens: tokens.count,
      input: (usage?.input ?? 0) + (usage?.cacheRead ?? 0) + (usage?.cacheWrite ?? 0),
      output: usage?.output ?? 0,
      cost: usage?.cost ?? 0,
      calls: usage ? 1 : 0,
      unpriced: usage && usage.cost === undefined ? 1 : 0,
    }
  }
  if (event.type === 'checkpoint.taken' && event.cost !== undefined) {
    const { cost, checkpoint } = event
    const nothing = { messages: 0, tokens: 0, input: 0, output: 0, unpriced: 0 }
    return { agent: 'compaction', model: checkpoint.author, ...nothing, cost, calls: 1 }
  }
  return undefined
}
