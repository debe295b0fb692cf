/** Messages to record, from the value that a provider's SDK returned. */
import type { Usage } from '../../log/events/message.ts'
import type { Part } from '../../log/events/part.ts'

export interface ReadAnswer {
  messages: AnswerMessage[]
}

export interface AnswerMessage {
  /** `tool`: results of calls that the SDK ran itself. */
  role: 'assistant' | 'tool'
  parts: Part[]
  usage?: Usage
  /** The provider's own words: its model, and why it stopped. */
  model?: string
  stopReason?: string
}

/** A usage without what is zero or unknown. */
export function usageOf(counts: {
  input: number | null | undefined
  output: number | null | undefined
  cacheRead?: number | null | undefined
  cacheWrite?: number | null | undefined
  reasoning?: number | null | undefined
}): Usage | undefined {
  const { input, output, cacheRead, cacheWrite, reasoning } = counts
  if (!input && !output && !cacheRead && !cacheWrite) return undefined
  return {
    input: Math.max(0, input ?? 0),
    output: output ?? 0,
    ...(cacheRead && { cacheRead }),
    ...(cacheWrite && { cacheWrite }),
    ...(reasoning && { reasoning }),
  }
}

/** Arguments that came as text. What cannot be read is kept as it is, in an object. */
export function argumentsOf(text: string): unknown {
  try {
    return text.trim() === '' ? {} : JSON.parse(text)
  } catch {
    return { unreadable: text }
  }
}
