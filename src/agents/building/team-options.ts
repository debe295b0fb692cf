/** Options of a run of a team. */

import type { RalphLimits } from '../../log/events/work/ralph.ts'
import type { Model } from '../../models/model.ts'
import type { Approvals } from '../build-settings.ts'
import type { OnProgress } from './progress.ts'

export interface TeamOptions {
  /** The model of all agents, by name or opened. Default: as configured for each agent. */
  model?: Model | string
  /** Stops the team. Its work is kept, and another run resumes it. */
  signal?: AbortSignal
  /** Receives all progress. */
  onProgress?: OnProgress
  /** Called when the team holds the lease: later failures are in the log. */
  onBegun?: () => void
  /** Limits of the loops, instead of those in the settings. */
  limits?: Partial<RalphLimits>
  /** Approver of commands, instead of the one in the settings. */
  approvals?: Approvals
  /** Continues tasks that failed or are blocked, from the state they stopped in. */
  retries?: boolean
}
