/**
 * Facts about Ralph loops: an agent works on a task, iteration by iteration, until the project's checks pass or a limit
 * is met.
 */
import { z } from 'zod'
import { Id } from '../id.ts'
import { Usage } from '../message.ts'
import { RunOutcome } from '../run.ts'

/** Result of one of the project's checks. */
export const CheckResult = z.object({
  name: z.string().min(1),
  command: z.string(),
  passed: z.boolean(),
  /** Null when it was killed or could not be started. */
  exitCode: z.int().nullable(),
  /** The last part of its output. */
  output: z.string(),
  durationMs: z.int().nonnegative(),
})
export type CheckResult = z.infer<typeof CheckResult>

export const RalphLimits = z.object({
  /** Maximum number of iterations. */
  iterations: z.int().positive(),
  /** Maximum tokens of all requests and answers; null for no limit. */
  tokens: z.int().positive().nullable(),
  /** Maximum number of consecutive iterations that change neither the work nor the failures. */
  unchanged: z.int().positive(),
})
export type RalphLimits = z.infer<typeof RalphLimits>

/**
 * `passed`: all checks pass. `iteration_limit`, `token_limit`, `no_progress`: a limit was met. `aborted`: it was
 * stopped and can continue. `error`: the agent could not run.
 */
export const RalphOutcome = z.enum(['passed', 'iteration_limit', 'token_limit', 'no_progress', 'aborted', 'error'])
export type RalphOutcome = z.infer<typeof RalphOutcome>

const OfLoop = { sessionId: Id, loopId: Id }

export const RalphStarted = z.object({
  ...OfLoop,
  type: z.literal('ralph.started'),
  agent: Id,
  /** 1 for the first loop on the task; one more after every return by QA and every retry. */
  round: z.int().positive(),
  /** Names of the checks that must pass. */
  checks: z.array(z.string()),
  limits: RalphLimits,
  /** Feedback to consider with the task: the review that sent it back. */
  feedback: z.string().optional(),
})
export type RalphStarted = z.infer<typeof RalphStarted>

export const IterationEnded = z.object({
  ...OfLoop,
  type: z.literal('iteration.ended'),
  /** 1, 2, 3 … within the loop. */
  number: z.int().positive(),
  runId: Id,
  outcome: RunOutcome,
  /** The agent's last text, shortened. */
  said: z.string(),
  /** The commit with its work; the previous one when nothing changed. */
  commit: z.string(),
  /** Changes when the files do. */
  tree: z.string(),
  checks: z.array(CheckResult),
  usage: Usage.optional(),
  durationMs: z.int().nonnegative(),
})
export type IterationEnded = z.infer<typeof IterationEnded>

export const RalphEnded = z.object({
  ...OfLoop,
  type: z.literal('ralph.ended'),
  outcome: RalphOutcome,
  reason: z.string().optional(),
  iterations: z.int().nonnegative(),
  usage: Usage.optional(),
})
export type RalphEnded = z.infer<typeof RalphEnded>
