/**
 * `colloquy/building`: the team that codes. The PM plans a feature, dev builds its tasks until the checks pass, QA reviews
 * them, and they are merged.
 *
 * Loaded on demand, so that programs without teams never read it.
 */
import { type TeamProject, teamParts } from '../team-access.ts'
import { TeamManager } from './team-manager.ts'

export type { LandingState, RalphState, ReviewState } from '../../log/views/work/ralph.ts'
export type { Approvals, BuildSettingsInput } from '../build-settings.ts'
export type { TeamProgress } from './progress.ts'
export type { TeamOutcome } from './team.ts'
export type { TaskStatus, TeamManager, TeamStatus } from './team-manager.ts'
export type { TeamOptions } from './team-options.ts'
export type { TeamResult } from './team-run.ts'

/**
 * Returns the team of an open project.
 *
 * @throws {IllegalState} when the project has no folder
 */
export function team(colloquy: TeamProject): TeamManager {
  return new TeamManager(colloquy[teamParts])
}
