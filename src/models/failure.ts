/** Failures of models as the data they are. */
import type { ModelFailure, ModelFailureKind, ModelPart } from './model.ts'

export type FailurePart = Extract<ModelPart, { type: 'failure' }>

/** Kinds after which the same request may succeed. */
const passing: ReadonlySet<ModelFailureKind> = new Set([
  'overloaded',
  'rate-limited',
  'network',
  'timed-out',
  'bad-response',
])

const longestMessage = 1000

export function failed(
  kind: ModelFailureKind,
  message: string,
  facts: Partial<Omit<ModelFailure, 'kind' | 'message'>> = {},
): FailurePart {
  const said = message.length > longestMessage ? `${message.slice(0, longestMessage)} …` : message
  return { type: 'failure', kind, message: said, retryable: passing.has(kind), ...facts }
}

export function cancelled(): FailurePart {
  return failed('cancelled', 'The call was cancelled.')
}

/** The failure without its place in a stream. */
export function asFailure({ type, ...failure }: FailurePart): ModelFailure {
  return failure
}
