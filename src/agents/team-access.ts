/** Access of `colloquy/building` to an open project. The team is loaded on demand, so nothing here imports it. */

import type { SessionManager } from '../conversation/sessions/session-manager.ts'
import type { WorkManager } from '../conversation/work/work-manager.ts'
import type { Engine, Scope } from '../log/engine.ts'
import type { BuildSettings } from './build-settings.ts'
import type { AgentManager } from './runs/agent-manager.ts'

export interface TeamParts {
  engine: Engine
  scope: Scope
  sessions: SessionManager
  agents: AgentManager
  /** Returns the agent manager as another actor, whom the log names. */
  agentsAs: (actor: string) => AgentManager
  work: WorkManager
  settings: BuildSettings
  /** The project's folder. */
  root: string
  /** The shifts of this process. Closing the store stops them. */
  shifts: Set<RunningShift>
}

export interface RunningShift {
  /** Stops the shift and waits for its end. */
  stop(): Promise<void>
}

/** Key of the parts on an open project. A symbol keeps them out of its visible methods. */
export const teamParts: unique symbol = Symbol.for('colloquy.teamParts')

/** A project that a team can build in. */
export interface TeamProject {
  /** @throws {IllegalState} when the project has no folder */
  readonly [teamParts]: TeamParts
}
