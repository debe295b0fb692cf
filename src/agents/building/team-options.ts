/** How a caller wants a team to work. */

import type { RalphLimits } from '../../log/events/work/ralph.ts'
import type { Model } from '../../models/model.ts'
import type { Approvals } from '../build-settings.ts'
import type { OnProgress } from './progress.ts'

export interface TeamOptions {
  /** The model of all agents, by name or opened. Default: as configured for each agent. */
  model?: Model | string
  /** Stops the team. What was done until then is kept, and another run goes on with it. */
  signal?: AbortSignal
  /** Receives everything that happens, as it happens. */
  onProgress?: OnProgress
  /** Called when the team holds the lease: later failures are in the log. */
  onBegun?: () => void
  /** Limits of the loops, where they differ from the settings. */
  limits?: Partial<RalphLimits>
  /** Who approves commands, where it differs from the settings. */
  approvals?: Approvals
  /** Continues tasks that failed or are blocked, from the state they stopped in. */
  retries?: boolean
}
