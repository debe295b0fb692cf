/** Failures of models, as data. */
import type { ModelFailure, ModelFailureKind, ModelPart } from './model.ts'

export type FailurePart = Extract<ModelPart, { type: 'failure' }>

/** Kinds after which the same request may succeed. */
const transientKinds: ReadonlySet<ModelFailureKind> = new Set([
  'overloaded',
  'rate-limited',
  'network',
  'timed-out',
  'bad-response',
])

const maxMessageCharacters = 1000

export function failed(
  kind: ModelFailureKind,
  message: string,
  facts: Partial<Omit<ModelFailure, 'kind' | 'message'>> = {},
): FailurePart {
  const text = message.length > maxMessageCharacters ? `${message.slice(0, maxMessageCharacters)} …` : message
  return { type: 'failure', kind, message: text, retryable: transientKinds.has(kind), ...facts }
}

export function cancelled(): FailurePart {
  return failed('cancelled', 'The call was cancelled.')
}

/** Returns the failure without the type of a stream's part. */
export function asFailure({ type, ...failure }: FailurePart): ModelFailure {
  return failure
}
