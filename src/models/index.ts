/** The door of models: open one by its name, or wrap one of yours. Each implementation has a door of its own. */
export { type AnswerCollector, type AnswerPart, answerCollector, answerOf, type ModelAnswer } from './answer.ts'
export { failed } from './failure.ts'
export { type Gate, gate, limited } from './limited.ts'
export type {
  Effort,
  Model,
  ModelFailure,
  ModelFailureKind,
  ModelPart,
  ModelPriority,
  ModelRequest,
  ModelTool,
  StablePrefix,
  StopReason,
} from './model.ts'
export { type ModelSettings, openModel } from './open.ts'
export { priced } from './priced.ts'
export { costOf, type Price, type PriceTable, priceOf } from './prices.ts'
export { type ProviderTokensOptions, providerTokens } from './provider-tokens.ts'
export { defaultRetrySettings, type RetrySettings, type RetryTools, retrying } from './retrying.ts'
