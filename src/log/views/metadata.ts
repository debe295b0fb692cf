/** Merges free metadata key by key; null removes a key. */
import type { Metadata } from '../events/metadata.ts'

export function mergeMetadata(old: Metadata, changes: Metadata): Metadata {
  const merged = { ...old, ...changes }
  for (const [key, value] of Object.entries(changes)) if (value === null) delete merged[key]
  return merged
}
