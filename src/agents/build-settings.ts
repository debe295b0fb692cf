/** Settings of teams that build, with their defaults. They are read with the other settings; the team is loaded later. */
import { z } from 'zod'
import { DurationMs } from '../log/commands/duration.ts'
import { RalphLimits } from '../log/events/work/ralph.ts'

const Name = z.string().min(1)
const { iterations, tokens, unchanged } = RalphLimits.shape

/** Approver of commands that no allow-list names. A person may always answer first. */
export const Approvals = z.enum(['person', 'agent', 'yes', 'no'])
export type Approvals = z.output<typeof Approvals>

export const BuildSettings = z.strictObject({
  checks: z
    .record(Name, Name)
    .readonly()
    .optional()
    .describe("Commands by name that tell whether work is done. Default: those of the project's own files."),
  setup: z.array(Name).readonly().default([]).describe('Commands that prepare a new worktree, such as `npm ci`.'),
  checkMs: DurationMs.default(10 * 60_000).describe('Time that each check may take.'),
  limits: z
    .strictObject({
      iterations: iterations.default(10).describe('Maximum number of iterations of a Ralph loop.'),
      tokens: tokens.default(null).describe('Maximum tokens of all its requests and answers; `null` for no limit.'),
      unchanged: unchanged
        .default(3)
        .describe('Maximum number of consecutive iterations that change neither the work nor the failures.'),
    })
    .prefault({})
    .describe('Limits of a Ralph loop.'),
  returns: z
    .int()
    .positive()
    .default(3)
    .describe('Number of times QA may send a task back before a person has to look at it.'),
  worktrees: Name.default('.colloquy/worktrees').describe("Folder of worktrees, from the project's root."),
  movesCheckouts: z
    .boolean()
    .default(true)
    .describe('Moves a clean checkout of the base branch forward when work is merged into it.'),
  approvals: Approvals.default('person').describe(
    'Answers what no allow-list names: a person, the agent `harness`, or always `yes` or `no`.',
  ),
  leaseMs: DurationMs.default(30_000).describe('Time without a sign of life after which a team counts as dead.'),
})
export type BuildSettings = z.output<typeof BuildSettings>
export type BuildSettingsInput = z.input<typeof BuildSettings>
