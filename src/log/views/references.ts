/**
 * Which references of a conversation's messages are resolved, and where their content stands. Folded from the log.
 *
 * The newest are remembered. One that is forgotten is looked up again when it is referred to again.
 */
import type { RecordedEvent } from '../events/recorded-event.ts'

export interface ResolvedReference {
  digest: string
  /** Version of the message with the content. */
  version: number
  /** Version of the message that refers to it. */
  of: number
}

export type References = readonly ResolvedReference[]

const referencesRemembered = 200

export function evolveReferences(state: References | undefined, { event }: RecordedEvent): References | undefined {
  if (event.type !== 'reference.resolved') return state
  const { digest, version, of } = event
  return [...(state ?? []), { digest, version, of }].slice(-referencesRemembered)
}

/** Where the content of a reference stands, if it was looked up after version `after`. */
export function resolvedAt(state: References | undefined, digest: string, after: number): number | undefined {
  const found = state?.findLast(one => one.digest === digest)
  return found && found.version > after ? found.version : undefined
}
