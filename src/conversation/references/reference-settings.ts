/** How references in messages are looked up, where a caller does not say otherwise. */
import { z } from 'zod'
import { DurationMs, WaitMs } from '../../log/commands/duration.ts'
import { parseInput } from '../../log/commands/input.ts'
import { withoutUndefined } from '../../log/commands/omit-undefined.ts'

export interface ReferenceSettings {
  /** How long a reference may take. Default 5 seconds. */
  timeoutMs: number
  /** So many are looked up for one view at the most, the newest first. Default 8. */
  perView: number
  /** The most that is taken of a content. Default 2,000. */
  maxTokens: number
  /** How long one that failed is left alone. Default 30 seconds. */
  retryAfterMs: number
}

const Count = z.int().positive()

export const ReferencesInput = z
  .strictObject({ timeoutMs: DurationMs, perView: Count, maxTokens: Count, retryAfterMs: WaitMs })
  .partial()

const defaultReferenceSettings: ReferenceSettings = {
  timeoutMs: 5_000,
  perView: 8,
  maxTokens: 2_000,
  retryAfterMs: 30_000,
}

/** Undefined where nothing is to be looked up. */
export function referenceSettings(
  input: Partial<ReferenceSettings> | 'off' | undefined,
): ReferenceSettings | undefined {
  if (input === 'off') return undefined
  if (input === undefined) return defaultReferenceSettings
  const given = parseInput(ReferencesInput, withoutUndefined(input))
  return { ...defaultReferenceSettings, ...(given as Partial<ReferenceSettings>) }
}
