/** Facts about landings: merging finished work into its base branch. */
import { z } from 'zod'
import { CheckResult } from './ralph.ts'

export const LandingStarted = z.object({
  type: z.literal('landing.started'),
  /** The branch with the work, and its newest commit. */
  branch: z.string(),
  tip: z.string(),
  /** The branch it is merged into, and its newest commit. */
  base: z.string(),
  onto: z.string(),
})
export type LandingStarted = z.infer<typeof LandingStarted>

/** Both sides changed the same lines; the merging agent resolves them. */
export const ConflictsFound = z.object({
  type: z.literal('conflicts.found'),
  files: z.array(z.string()).min(1),
})
export type ConflictsFound = z.infer<typeof ConflictsFound>

/**
 * `landed`: the base has the work, and its checks pass. `waiting`: a person's own checkout is in the way. `conflicted`,
 * `checks_failed`: the problem could not be solved; nothing was changed.
 */
export const LandingOutcome = z.enum(['landed', 'waiting', 'conflicted', 'checks_failed'])
export type LandingOutcome = z.infer<typeof LandingOutcome>

export const LandingEnded = z.object({
  type: z.literal('landing.ended'),
  outcome: LandingOutcome,
  /** The merge commit. */
  commit: z.string().optional(),
  reason: z.string().optional(),
  checks: z.array(CheckResult).optional(),
})
export type LandingEnded = z.infer<typeof LandingEnded>
