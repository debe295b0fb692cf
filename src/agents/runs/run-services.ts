/** The services of a project that its runs use. */
import type { Scribe } from '../../conversation/access/prepare-message.ts'
import type { SessionRequests } from '../../conversation/sessions/session-requests.ts'
import type { AgentViews } from '../../conversation/turns/agent-views.ts'
import type { Team } from '../../conversation/turns/team-parts.ts'
import type { Engine, Scope } from '../../log/engine.ts'
import type { McpServers } from '../tools/mcp/servers.ts'
import type { AgentModels } from './agent-models.ts'
import type { AgentSettings } from './agent-settings.ts'
import type { LiveChannel } from './live-channel.ts'
import type { RunKeeper } from './run-keeper.ts'

export interface RunServices {
  engine: Engine
  scope: Scope
  scribe: Scribe
  requests: SessionRequests
  views: AgentViews
  team: Team
  settings: AgentSettings
  models: AgentModels
  /** False when agents are switched off in this project. */
  isOn: boolean
  /** The work tree. Without one agents have neither files nor programs. */
  root: string | undefined
  live: LiveChannel
  keeper: RunKeeper
  mcp: McpServers | undefined
}
