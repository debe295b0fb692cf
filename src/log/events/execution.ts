/** Facts about the time agents spend working. */
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
  /** The process died: the execution counts up to the agent's last known action. */
  crashed: z.boolean().optional(),
})
export type ExecutionStopped = z.infer<typeof ExecutionStopped>
