/** How requests are put together where a caller does not say otherwise. */
import { defaultStrategy, type Strategy } from '../request/strategy.ts'

export interface RequestSettings {
  /** Tokens a request may have, if the model's window allows. Default 100,000. */
  budget: number
  /** The model whose limits count, as `provider:model`. */
  model: string | undefined
  /** Room for the answer. */
  outputReserve: number
  /** Room for what providers add on their own. */
  buffer: number
  strategy: Strategy
  /** Shares of the budget: compact past `trigger` down to `target`; with a model, in the background from `background`. */
  trigger: number
  target: number
  background: number
  /** Compact after so many new messages, too; null for never. */
  everyMessages: number | null
  /** How long a summary may take; a model that stalls is cancelled then, and the compaction failed. Default 90 seconds. */
  answerWithinMs: number
  /** Quote older messages that have the words of the new one. */
  recall: boolean
}

export const defaultRequestSettings: RequestSettings = {
  budget: 100_000,
  model: undefined,
  outputReserve: 8_192,
  buffer: 1_024,
  strategy: defaultStrategy,
  trigger: 0.9,
  target: 0.6,
  background: 0.75,
  everyMessages: null,
  answerWithinMs: 90_000,
  recall: true,
}
