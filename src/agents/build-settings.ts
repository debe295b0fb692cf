/** Settings of the team that codes. They are read with the other settings of a project; the team is loaded later. */
import { withoutUndefined } from '../log/commands/omit-undefined.ts'
import type { RalphLimits } from '../log/events/work/ralph.ts'

/**
 * Who answers when an agent wants to run a command that its allow-list does not name: a person, the agent `harness`, or
 * always the same answer. A person's answer counts in any case, if it comes first.
 */
export type Approvals = 'person' | 'agent' | 'yes' | 'no'

export interface BuildSettings {
  /** Commands by name that decide whether a task is done. Undefined: those found in the project's own files. */
  checks: Readonly<Record<string, string>> | undefined
  /** Commands that prepare a new worktree, such as `npm ci`. */
  setup: readonly string[]
  /** How long each check may take. Default 10 minutes. */
  checkMs: number
  limits: RalphLimits
  /** How often QA may return a task before a person has to look at it. Default 3. */
  returns: number
  /** Where worktrees are made, relative to the project's root. */
  worktrees: string
  /** Whether a clean checkout of the base branch moves along with a merge. Otherwise a person updates it. */
  movesCheckouts: boolean
  approvals: Approvals
  /** How long a team may be silent before it counts as dead; its process renews the lease. Default 30 seconds. */
  leaseMs: number
}

export type BuildSettingsInput = Partial<Omit<BuildSettings, 'limits'>> & { limits?: Partial<RalphLimits> }

export function completeBuildSettings({ limits, ...input }: BuildSettingsInput = {}): BuildSettings {
  return {
    checks: undefined,
    setup: [],
    checkMs: 10 * 60_000,
    returns: 3,
    worktrees: '.colloquy/worktrees',
    movesCheckouts: true,
    approvals: 'person',
    leaseMs: 30_000,
    ...withoutUndefined(input),
    limits: { iterations: 10, tokens: null, unchanged: 3, ...limits },
  }
}
