/** Settings of requests: a request's own options, else its session's, else the project's. The budget follows from them. */
import { z } from 'zod'
import { InvalidInput } from '../../errors.ts'
import { DurationMs } from '../../log/commands/duration.ts'
import { parseInput } from '../../log/commands/input.ts'
import { SessionConfigured } from '../../log/events/session.ts'
import { defaultStrategy, Strategy } from '../../log/events/strategy.ts'
import type { SessionHead } from '../../log/views/session.ts'
import type { SettingSource } from './ledger.ts'
import { type KnownLimits, ModelLimits, modelLimits } from './model-limits.ts'

/** The message a request is for: a text, or a stored message by its id. */
export type RequestTrigger = string | { messageId: string }

const { strategy, budget, model, recall } = SessionConfigured.shape.requests.shape

/** Settings of one request, over those of its session and project. */
const RequestOptions = z.strictObject({
  budget: budget.unwrap().unwrap().optional(),
  strategy: strategy.unwrap().unwrap().optional(),
  recall: recall.unwrap().unwrap().optional(),
  /** `provider:model`: its limits and its way of counting apply. */
  model: model.unwrap().unwrap().optional(),
  /** Tokens of the budget that the sender adds, such as the definitions of tools. */
  reserve: z.int().nonnegative().optional(),
  /** Builds the request as of this version of the conversation. Default: its newest. */
  asOf: z.int().nonnegative().optional(),
})
export type RequestOptions = z.output<typeof RequestOptions>

/** @throws {InvalidInput} naming the option */
export function checkedOptions(options: RequestOptions | undefined): RequestOptions {
  return options === undefined ? {} : parseInput(RequestOptions, options)
}

/** @throws {InvalidInput} when it is neither a text nor a message by its id */
export function checkedTrigger<T extends RequestTrigger>(trigger: T): T {
  const isValid = typeof trigger === 'string' || (typeof trigger === 'object' && typeof trigger?.messageId === 'string')
  if (!isValid) throw new InvalidInput('message', 'must be a text, or a message by its id: { messageId }')
  return trigger
}

const Count = z.int().positive()
const Share = z.number().gt(0).lte(1)
const [checkpoint, slidingWindow, summarization, recent] = Strategy.options

/** A name alone stands for the strategy with its default numbers. */
const NamedStrategy = z.preprocess(
  value => (typeof value === 'string' ? { name: value } : value),
  z.discriminatedUnion('name', [checkpoint.strict(), slidingWindow.strict(), summarization.strict(), recent.strict()]),
) as unknown as z.ZodType<Strategy, z.input<typeof Strategy> | Strategy['name']>

export const RequestSettings = z.strictObject({
  budget: Count.default(100_000).describe("Maximum tokens of a request, if the model's window allows."),
  model: z.string().min(1).optional().describe('Model whose limits apply, as `provider:model`.'),
  models: z
    .record(z.string().min(1), ModelLimits)
    .readonly()
    .default({})
    .describe('Limits of models by name, over the built-in table.'),
  outputReserve: z.int().nonnegative().default(8_192).describe('Tokens kept free for the answer.'),
  buffer: z.int().nonnegative().default(1_024).describe('Tokens kept free for what a provider adds to a request.'),
  strategy: NamedStrategy.default(defaultStrategy).describe(
    'Way of fitting history into the budget: `checkpoint`, `sliding_window`, `summarization` or `recent`.',
  ),
  warn: Share.default(0.8).describe('Share of the budget from which metrics warn.'),
  trigger: Share.default(0.9).describe('Share of the budget from which a request is compacted before it is built.'),
  target: Share.default(0.6).describe('Share of the budget that a compaction aims at; must be below `trigger`.'),
  background: Share.default(0.75).describe(
    'Share of the budget from which compaction starts in the background, with a model.',
  ),
  everyMessages: Count.nullable()
    .default(null)
    .describe('Compacts after this many new messages, too; `null` for never.'),
  answerWithinMs: DurationMs.default(90_000).describe('Time that a summary may take before the model is cancelled.'),
  recall: z.boolean().default(true).describe('Quotes older messages that share words with the new one.'),
})
export type RequestSettings = z.output<typeof RequestSettings>

/** The settings of one request, and where two of them were set. */
export interface EffectiveSettings extends RequestSettings {
  set: { strategy: SettingSource; budget: SettingSource }
}

export function settingsFor(
  project: RequestSettings,
  { requests: session = {} }: Pick<SessionHead, 'requests'>,
  { budget, strategy, recall, model }: RequestOptions,
): EffectiveSettings {
  const own = {
    ...(budget !== undefined && { budget }),
    ...(strategy !== undefined && { strategy }),
    ...(recall !== undefined && { recall }),
    ...(model !== undefined && { model }),
  }
  const sourceOf = (key: 'strategy' | 'budget') => (key in own ? 'request' : key in session ? 'session' : 'project')
  return { ...project, ...session, ...own, set: { strategy: sourceOf('strategy'), budget: sourceOf('budget') } }
}

/** `sliding_window` leaves a fifth of the model's window free. */
const slidingWindowShare = 0.8

/** Returns the tokens a request may have, of which all percentages are, and the limits of its model. */
export function budgetOf(settings: RequestSettings): { budget: number; limits: KnownLimits } {
  const limits = modelLimits(settings.model ?? '', settings.models)
  const { contextWindow, outputLimit, inputLimit } = limits
  const { buffer } = settings
  const share = settings.strategy.name === 'sliding_window' ? slidingWindowShare : 1
  const bounds = [
    settings.budget,
    contextWindow - Math.max(Math.min(settings.outputReserve, outputLimit), buffer),
    Math.floor(contextWindow * share),
  ]
  if (inputLimit !== undefined) bounds.push(inputLimit - buffer)
  return { budget: Math.max(0, Math.min(...bounds)), limits }
}
