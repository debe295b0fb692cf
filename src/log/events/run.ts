/** Facts about runs of agents on their sessions. */
import { z } from 'zod'
import { Id } from './id.ts'
import { Usage } from './message.ts'

/** `superseded`: another run took its place. `crashed`: its process died and the lease ran out. */
export const RunOutcome = z.enum(['done', 'cancelled', 'failed', 'superseded', 'crashed'])
export type RunOutcome = z.infer<typeof RunOutcome>

export const RunStarted = z.object({
  type: z.literal('run.started'),
  sessionId: Id,
  runId: Id,
  agent: Id,
  /** `provider:model`. */
  model: z.string(),
  /** Version of the message to answer. */
  trigger: z.int().positive(),
  /** The interrupted run that this one resumes. */
  resumes: Id.optional(),
})
export type RunStarted = z.infer<typeof RunStarted>

export const RunEnded = z.object({
  type: z.literal('run.ended'),
  sessionId: Id,
  runId: Id,
  agent: Id,
  outcome: RunOutcome,
  /** The failure, or who stopped it. */
  reason: z.string().optional(),
  /** Calls of the model and of tools. */
  steps: z.int().nonnegative(),
  toolCalls: z.int().nonnegative(),
  /** All calls of the model together. The cost is present only when every price is known. */
  usage: Usage.optional(),
  durationMs: z.int().nonnegative(),
  /** The message that holds the answer. */
  answer: Id.optional(),
})
export type RunEnded = z.infer<typeof RunEnded>
