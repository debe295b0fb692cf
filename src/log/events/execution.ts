/** Facts about when agents were at work. */
import { z } from 'zod'
import { Id } from './id.ts'

export const ExecutionStarted = z.object({
  type: z.literal('execution.started'),
  executionId: Id,
  agent: Id,
})
export type ExecutionStarted = z.infer<typeof ExecutionStarted>

export const ExecutionStopped = z.object({
  type: z.literal('execution.stopped'),
  executionId: Id,
  agent: Id,
  ms: z.int().nonnegative(),
  /** Nobody stopped it: it was found dead, and counts up to the last thing the agent is known to have done. */
  crashed: z.boolean().optional(),
})
export type ExecutionStopped = z.infer<typeof ExecutionStopped>
