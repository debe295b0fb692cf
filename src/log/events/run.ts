/** Facts about runs: an agent was set to work on its session, and how that ended. */
import { z } from 'zod'
import { Id } from './id.ts'
import { Usage } from './message.ts'

/**
 * `superseded`: another run took its place. `crashed`: nobody ended it; it was found dead, its lease run out.
 */
export const RunOutcome = z.enum(['done', 'cancelled', 'failed', 'superseded', 'crashed'])
export type RunOutcome = z.infer<typeof RunOutcome>

export const RunStarted = z.object({
  type: z.literal('run.started'),
  sessionId: Id,
  runId: Id,
  agent: Id,
  /** `provider:model`. */
  model: z.string(),
  /** Version of the message it is to answer. */
  trigger: z.int().positive(),
  /** The run it takes up where that one was cut off. */
  resumes: Id.optional(),
})
export type RunStarted = z.infer<typeof RunStarted>

export const RunEnded = z.object({
  type: z.literal('run.ended'),
  sessionId: Id,
  runId: Id,
  agent: Id,
  outcome: RunOutcome,
  /** What went wrong, or who stopped it. */
  reason: z.string().optional(),
  /** Calls of the model, and of tools. */
  steps: z.int().nonnegative(),
  toolCalls: z.int().nonnegative(),
  /** All calls of the model together; what it cost only where every price is known. */
  usage: Usage.optional(),
  durationMs: z.int().nonnegative(),
  /** The message with its last words. */
  answer: Id.optional(),
})
export type RunEnded = z.infer<typeof RunEnded>
