/**
 * Facts about Ralph loops: an agent works on a task, iteration by iteration, until the checks of the project pass or one
 * of the limits is met.
 */
import { z } from 'zod'
import { Id } from '../id.ts'
import { Usage } from '../message.ts'
import { RunOutcome } from '../run.ts'

/** What a check of the project said. */
export const CheckResult = z.object({
  name: z.string().min(1),
  command: z.string(),
  passed: z.boolean(),
  /** Null when it was ended, or could not be started. */
  exitCode: z.int().nullable(),
  /** The end of what it printed. */
  output: z.string(),
  durationMs: z.int().nonnegative(),
})
export type CheckResult = z.infer<typeof CheckResult>

export const RalphLimits = z.object({
  /** Iterations at the most. */
  iterations: z.int().positive(),
  /** Tokens of all requests and answers together; null for no limit. */
  tokens: z.int().positive().nullable(),
  /** So many iterations in a row that change neither the work nor what fails end it. */
  unchanged: z.int().positive(),
})
export type RalphLimits = z.infer<typeof RalphLimits>

/**
 * `passed`: all checks do. `iteration_limit`, `token_limit`, `no_progress`: a limit was met. `aborted`: somebody stopped
 * it, and it can go on. `error`: the agent could not be run.
 */
export const RalphOutcome = z.enum(['passed', 'iteration_limit', 'token_limit', 'no_progress', 'aborted', 'error'])
export type RalphOutcome = z.infer<typeof RalphOutcome>

const OfLoop = { sessionId: Id, loopId: Id }

export const RalphStarted = z.object({
  ...OfLoop,
  type: z.literal('ralph.started'),
  agent: Id,
  /** 1 for the first loop on the task; one more after every return by QA, and every time it is tried again. */
  round: z.int().positive(),
  /** Names of the checks that must pass. */
  checks: z.array(z.string()),
  limits: RalphLimits,
  /** What must be heeded beside the task: the review that sent it back. */
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
  /** What the agent said last, shortened. */
  said: z.string(),
  /** The commit its work is in; that of before when nothing changed. */
  commit: z.string(),
  /** Differs when the files do. */
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
