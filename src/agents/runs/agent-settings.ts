/** How agents are run, where a caller does not say otherwise. */

import { checkDurations, DurationMs } from '../../log/commands/duration.ts'
import { withoutUndefined } from '../../log/commands/omit-undefined.ts'
import type { Model } from '../../models/model.ts'
import type { PriceTable } from '../../models/prices.ts'
import type { McpServer } from '../tools/mcp/tools.ts'
import type { Tool, ToolLimits } from '../tools/tool.ts'

export interface AgentSettings {
  /** The model agents run on, by name or opened. Default: the one whose limits requests keep to. */
  model: Model | string | undefined
  /** Other models for some types of agents. */
  models: Readonly<Record<string, Model | string>>
  /** What models cost, by their names, before the built-in prices. US dollars per million tokens. */
  prices: PriceTable
  /** Calls at a time of this process to one model: for all that are opened by name, or by their names. */
  concurrency: number | Readonly<Record<string, number>>
  /** Commands that need no leave, by the agent's type, each the first words of a command line; under `*` for every type. */
  commands: Readonly<Record<string, readonly string[]>>
  /** Tools beside the built-in ones. An agent has those that its description allows. */
  tools: readonly Tool[]
  /** MCP servers by name: their tools are `mcp__NAME__TOOL`. */
  mcp: Readonly<Record<string, McpServer>>
  limits: Omit<ToolLimits, 'commands'>
  /** Calls of the model in one run. Default 100. */
  maxSteps: number
  /** How long a run may be silent before it counts as dead; renewed by the process it runs in. Default a minute. */
  leaseMs: number
  /** Every message starts with an empty window: what was said before is kept, and not sent. */
  singleShot: boolean
  /** Whether what people say starts a run by itself: of the agents it is addressed to, else of `defaultAgent`. */
  autorun: boolean
  /** Who answers what is addressed to nobody: an agent, or `orchestrator`, which routes it and says nothing itself. */
  defaultAgent: string | undefined
  orchestrator: OrchestratorSettings
}

export interface OrchestratorSettings {
  /** Whom it may route to, and what each is for. Default: the built-in agents. */
  agents: Readonly<Record<string, string>> | undefined
  /** Of those, whom somebody else runs: their completions are waited for. */
  outside: readonly string[]
}

export type AgentSettingsInput = Partial<Omit<AgentSettings, 'limits' | 'orchestrator'>> & {
  limits?: Partial<AgentSettings['limits']>
  orchestrator?: Partial<OrchestratorSettings>
}

const minute = 60_000

/** @throws {InvalidInput} naming a duration that is none */
export function completeAgentSettings({ limits, orchestrator, ...given }: AgentSettingsInput = {}): AgentSettings {
  const durations = { leaseMs: DurationMs, commandMs: DurationMs, answerWithinMs: DurationMs }
  checkDurations({ ...limits, leaseMs: given.leaseMs }, durations)
  return {
    model: undefined,
    models: {},
    prices: {},
    concurrency: {},
    commands: {},
    tools: [],
    mcp: {},
    singleShot: false,
    maxSteps: 100,
    leaseMs: minute,
    autorun: false,
    defaultAgent: undefined,
    ...withoutUndefined(given),
    orchestrator: { agents: undefined, outside: [], ...orchestrator },
    limits: { commandMs: 2 * minute, characters: 30_000, answerWithinMs: 24 * 60 * minute, ...limits },
  }
}
