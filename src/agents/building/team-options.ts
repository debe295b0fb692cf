/** What those who run a team need of the rest of the product, and how a caller says how it is to be run. */

import type { SessionManager } from '../../conversation/sessions/session-manager.ts'
import type { WorkManager } from '../../conversation/work/work-manager.ts'
import type { Engine, Scope } from '../../log/engine.ts'
import type { RalphLimits } from '../../log/events/work/ralph.ts'
import type { Model } from '../../models/model.ts'
import type { AgentManager } from '../runs/agent-manager.ts'
import type { Approvals, BuildSettings } from './build-settings.ts'
import type { OnProgress } from './progress.ts'

export interface TeamParts {
  engine: Engine
  scope: Scope
  sessions: SessionManager
  agents: AgentManager
  /** The same as somebody else: the log says who answered. */
  agentsAs: (actor: string) => AgentManager
  work: WorkManager
  settings: BuildSettings
  /** The project's folder. */
  root: string
  /** The shifts of this process; none outlives the store. */
  shifts: Set<RunningShift>
}

export interface RunningShift {
  /** Stops it and waits until it has said so. */
  stop(): Promise<void>
}

export interface TeamOptions {
  /** Of all agents, by name or opened. Default: as configured for each. */
  model?: Model | string
  /** Stops the team; what was done by then is kept, and it can go on. */
  signal?: AbortSignal
  /** Told of everything as it happens. */
  onProgress?: OnProgress
  /** Called when it holds the lease: what goes wrong from there on is in the log. */
  onBegun?: () => void
  /** Where the loops differ from what is configured. */
  limits?: Partial<RalphLimits>
  /** Who gives leave, where it is not as configured. */
  approvals?: Approvals
  /** Tasks that failed or are blocked are taken up again where that happened. */
  retries?: boolean
}
