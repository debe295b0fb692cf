/**
 * References of a conversation's messages that were resolved, with the versions of their content. Folded from the log.
 *
 * Only the newest are kept. A forgotten one is looked up again when it is next mentioned.
 */
import type { RecordedEvent } from '../events/recorded-event.ts'

interface ResolvedReference {
  digest: string
  /** Version of the message with the content. */
  version: number
  /** Version of the message that refers to it. */
  of: number
}

export type References = readonly ResolvedReference[]

const rememberedReferences = 200

export function evolveReferences(state: References | undefined, { event }: RecordedEvent): References | undefined {
  if (event.type !== 'reference.resolved') return state
  const { digest, version, of } = event
  return [...(state ?? []), { digest, version, of }].slice(-rememberedReferences)
}

/** Returns the version of a reference's content, if it was looked up after version `after`. */
export function resolvedAt(state: References | undefined, digest: string, after: number): number | undefined {
  const resolved = state?.findLast(reference => reference.digest === digest)
  return resolved && resolved.version > after ? resolved.version : undefined
}
