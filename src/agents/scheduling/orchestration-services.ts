/** The services of a project that its orchestrator uses. */
import type { Scribe } from '../../conversation/access/prepare-message.ts'
import type { AgentViews } from '../../conversation/turns/agent-views.ts'
import type { Team } from '../../conversation/turns/team-parts.ts'
import type { Engine, Scope } from '../../log/engine.ts'
import type { RequestSettings } from '../../request/assembly/settings.ts'
import type { TokenEstimator } from '../../request/text/tokens.ts'
import type { AgentManager } from '../runs/agent-manager.ts'
import type { AgentSettings } from '../runs/agent-settings.ts'
import type { RunKeeper } from '../runs/run-keeper.ts'

export interface OrchestrationServices {
  engine: Engine
  scope: Scope
  scribe: Scribe
  views: AgentViews
  team: Team
  agents: AgentManager
  settings: AgentSettings
  requests: RequestSettings
  estimator: () => TokenEstimator | Promise<TokenEstimator>
  keeper: RunKeeper
}
