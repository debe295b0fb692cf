/** How requests are put together where a caller does not say otherwise. */
import { z } from 'zod'
import { parseInput } from '../../log/commands/input.ts'
import { SessionConfigured } from '../../log/events/session.ts'
import { defaultStrategy, type Strategy } from '../../log/events/strategy.ts'
import type { SessionHead } from '../../log/views/session.ts'
import type { SettingSource } from '../../request/assembly/ledger.ts'
import type { ModelLimits } from '../../request/model-limits.ts'

/** What one request may have otherwise than its session and project. */
export interface RequestOptions {
  budget?: number
  strategy?: Strategy
  recall?: boolean
  /** `provider:model`: whose limits and whose way of counting hold. */
  model?: string
  /** Tokens of the budget that whoever sends it adds, such as the definitions of tools. */
  reserve?: number
  /** Only what was there at this version of the conversation. Default: all there is. */
  asOf?: number
}

const { strategy, budget, model, recall } = SessionConfigured.shape.requests.shape

/** Of a caller's own. */
const GivenOptions = z.strictObject({
  strategy: strategy.unwrap().unwrap().optional(),
  budget: budget.unwrap().unwrap().optional(),
  model: model.unwrap().unwrap().optional(),
  recall: recall.unwrap().unwrap().optional(),
  reserve: z.int().nonnegative().optional(),
  asOf: z.int().nonnegative().optional(),
})

/** @throws {InvalidInput} naming an option that cannot be */
export function checkedOptions(options: RequestOptions | undefined): RequestOptions {
  return options === undefined ? {} : (parseInput(GivenOptions, options) as RequestOptions)
}

export interface RequestSettings {
  /** Tokens a request may have, if the model's window allows. Default 100,000. */
  budget: number
  /** The model whose limits count, as `provider:model`. */
  model: string | undefined
  /** Limits of models by name, beside and over the built-in table. */
  models: Readonly<Record<string, ModelLimits>>
  /** Room for the answer. */
  outputReserve: number
  /** Room for what providers add on their own. */
  buffer: number
  strategy: Strategy
  /** Shares of the budget: say so past `warn`; compact past `trigger` down to `target`; with a model, in the background from `background`. */
  warn: number
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
  models: {},
  outputReserve: 8_192,
  buffer: 1_024,
  strategy: defaultStrategy,
  warn: 0.8,
  trigger: 0.9,
  target: 0.6,
  background: 0.75,
  everyMessages: null,
  answerWithinMs: 90_000,
  recall: true,
}

/** What holds for one request: what it asks for itself, else what its session has, else what the project has. */
export interface EffectiveSettings extends RequestSettings {
  set: { strategy: SettingSource; budget: SettingSource }
}

export function settingsFor(
  project: RequestSettings,
  { requests: session = {} }: Pick<SessionHead, 'requests'>,
  { budget, strategy, recall, model }: RequestOptions,
): EffectiveSettings {
  const asked = {
    ...(budget !== undefined && { budget }),
    ...(strategy !== undefined && { strategy }),
    ...(recall !== undefined && { recall }),
    ...(model !== undefined && { model }),
  }
  const sourceOf = (key: 'strategy' | 'budget') => (key in asked ? 'request' : key in session ? 'session' : 'project')
  return { ...project, ...session, ...asked, set: { strategy: sourceOf('strategy'), budget: sourceOf('budget') } }
}
