/** Settings for running agents, with their defaults. */
import { z } from 'zod'
import { DurationMs } from '../../log/commands/duration.ts'
import type { Model } from '../../models/model.ts'
import { PriceTable } from '../../models/prices.ts'
import { McpServer } from '../tools/mcp/tools.ts'
import type { Tool } from '../tools/tool.ts'

const minute = 60_000
const Count = z.int().positive()
const Name = z.string().min(1)

/** A model by its name, as `provider:model`, or opened. */
export const ModelChoice = z.custom<Model | string>(
  value => (typeof value === 'string' ? value !== '' : typeof (value as Model | null)?.stream === 'function'),
  'must be the name of a model, such as provider:model, or a model',
)

const isTool = (value: unknown) => typeof (value as Tool | null)?.run === 'function'

export const AgentSettings = z.strictObject({
  model: ModelChoice.optional().describe('Model that agents run on. Default: `requests.model`.'),
  models: z.record(Name, ModelChoice).readonly().default({}).describe('Models by type of agent, over `model`.'),
  prices: PriceTable.default({}).describe(
    'Prices of models by name, over the built-in ones; US dollars per million tokens.',
  ),
  concurrency: z
    .union([Count, z.record(Name, Count).readonly()])
    .default({})
    .describe('Maximum number of calls at a time from this process to one model: for all models, or by name.'),
  commands: z
    .record(Name, z.array(Name).readonly())
    .readonly()
    .default({})
    .describe(
      'Commands that need no approval, by type of agent; `*` for all types. Each is the first words of a line.',
    ),
  tools: z
    .array(z.custom<Tool>(isTool, 'must be a tool'))
    .readonly()
    .default([])
    .describe('Tools of your own, in code only. An agent has those that its description allows.'),
  mcp: z
    .record(z.string().regex(/^[\w-]+$/), McpServer)
    .readonly()
    .default({})
    .describe('MCP servers by name; their tools are called `mcp__NAME__TOOL`.'),
  limits: z
    .strictObject({
      commandMs: DurationMs.default(2 * minute).describe('Time-out of a command.'),
      characters: Count.default(30_000).describe('Maximum characters of a result; fewer with a small budget.'),
      answerWithinMs: DurationMs.default(24 * 60 * minute).describe('Time that a person has to answer a question.'),
    })
    .prefault({})
    .describe('Limits of the built-in tools.'),
  maxSteps: Count.default(100).describe('Maximum number of calls of the model in one run.'),
  leaseMs: DurationMs.default(minute).describe('Time without a sign of life after which a run counts as dead.'),
  singleShot: z
    .boolean()
    .default(false)
    .describe('Starts every message with an empty window; older messages are kept, and not sent.'),
  autorun: z
    .boolean()
    .default(false)
    .describe('Starts a run for every message of a person: of the agents it addresses, else of `defaultAgent`.'),
  defaultAgent: Name.optional().describe('Agent that answers messages without an addressee, or `orchestrator`.'),
  orchestrator: z
    .strictObject({
      agents: z
        .record(Name, z.string())
        .readonly()
        .optional()
        .describe('Agents it may route to, and what each is for. Default: the built-in ones.'),
      outside: z
        .array(Name)
        .readonly()
        .default([])
        .describe('Agents that run outside of Colloquy; their completions are waited for.'),
    })
    .prefault({})
    .describe('Settings of the built-in orchestrator.'),
})
export type AgentSettings = z.output<typeof AgentSettings>
export type AgentSettingsInput = z.input<typeof AgentSettings>
