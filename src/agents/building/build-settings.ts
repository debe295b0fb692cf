/** How teams build, where a caller does not say otherwise. */
import { withoutUndefined } from '../../log/commands/omit-undefined.ts'
import type { RalphLimits } from '../../log/events/work/ralph.ts'
import type { Check } from './find-checks.ts'

/**
 * Who answers when an agent wants leave for something its allow-list does not name: a person, the agent `harness`, or
 * always the same. A person's answer counts in any case, if it comes first.
 */
export type Approvals = 'person' | 'agent' | 'yes' | 'no'

export interface BuildSettings {
  /** Commands by name that tell whether work is done. Undefined: as the project's own files say. */
  checks: Readonly<Record<string, string>> | undefined
  /** Commands that make a fresh worktree ready, such as `npm ci`. */
  setup: readonly string[]
  /** How long each of them may take. Default 10 minutes. */
  checkMs: number
  limits: RalphLimits
  /** QA may send a task back this often before a person has to look at it. Default 3. */
  returns: number
  /** Where worktrees are made, from the project's root. */
  worktrees: string
  /** Whether a clean checkout of the base branch follows when work is merged into it; else a person brings it in. */
  movesCheckouts: boolean
  approvals: Approvals
  /** How long a team may be silent before it counts as dead; renewed by the process it runs in. Default 30 seconds. */
  leaseMs: number
}

export type BuildSettingsInput = Partial<Omit<BuildSettings, 'limits'>> & { limits?: Partial<RalphLimits> }

export function completeBuildSettings({ limits, ...given }: BuildSettingsInput = {}): BuildSettings {
  return {
    checks: undefined,
    setup: [],
    checkMs: 10 * 60_000,
    returns: 3,
    worktrees: '.colloquy/worktrees',
    movesCheckouts: true,
    approvals: 'person',
    leaseMs: 30_000,
    ...withoutUndefined(given),
    limits: { iterations: 10, tokens: null, unchanged: 3, ...limits },
  }
}

export function checksOf({ checks }: BuildSettings, find: () => Check[]): Check[] {
  return checks ? Object.entries(checks).map(([name, command]) => ({ name, command })) : find()
}
