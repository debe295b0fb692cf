/** Settings for looking up the references in messages, with their defaults. */
import { z } from 'zod'
import { DurationMs, WaitMs } from '../../log/commands/duration.ts'

const Count = z.int().positive()

export const ReferenceSettings = z.strictObject({
  timeoutMs: DurationMs.default(5_000).describe('Time that one lookup may take.'),
  perView: Count.default(8).describe('Maximum number of lookups for one view; the newest references come first.'),
  maxTokens: Count.default(2_000).describe('Maximum number of tokens taken from one content.'),
  retryAfterMs: WaitMs.default(30_000).describe('Time before a failed lookup is retried.'),
})
export type ReferenceSettings = z.output<typeof ReferenceSettings>
