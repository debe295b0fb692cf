/** The door of models: opens one by name, or wraps a custom one. Each implementation has a door of its own. */
export { type AnswerCollector, type AnswerPart, answerCollector, answerOf, type ModelAnswer } from './answer.ts'
export { type CallLimiter, callLimiter, limited } from './call-limiter.ts'
export { failed } from './failure.ts'
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
export { priced } from './priced-model.ts'
export { costOf, type Price, type PriceTable, priceOf } from './prices.ts'
export { type ProviderTokensOptions, providerTokens } from './provider-tokens.ts'
export { defaultRetrySettings, type RetrySettings, type RetryTools, retrying } from './retry.ts'
