/**
 * Options of `openColloquy`: one closed schema for code, for the configuration file and for the environment. An unknown
 * option is refused, because a setting that is silently ignored is worse than none.
 */
import { z } from 'zod'
import { BuildSettings } from '../../agents/build-settings.ts'
import { AgentSettings, ModelChoice } from '../../agents/runs/agent-settings.ts'
import { DispatchSettings } from '../../agents/scheduling/dispatch-settings.ts'
import { Settings } from '../../conversation/access/settings.ts'
import { ReferenceSettings } from '../../conversation/references/reference-settings.ts'
import { TeamOptions } from '../../conversation/turns/team-settings.ts'
import { Id } from '../../log/events/id.ts'
import { RequestSettings } from '../../request/assembly/settings.ts'
import type { ReferenceResolver } from '../../request/context/resolver.ts'
import type { TokenEstimator } from '../../request/text/tokens.ts'
import type { Tracer } from '../../tracing.ts'
import { archivesProblem } from './archive-places.ts'
import { ServeSettings } from './server-settings.ts'

const { sweepEveryMs, ...keeping } = Settings.shape
const { executionLeaseMs, phases, turns } = TeamOptions.shape

export const ProjectFeatures = z.strictObject({
  agents: z.boolean().default(true).describe('Allows running agents.'),
  conversations: z
    .boolean()
    .default(true)
    .describe(
      'Sends agents the older messages. Off: every message starts with an empty window, and the log keeps all.',
    ),
})
export type ProjectFeatures = z.output<typeof ProjectFeatures>

/** Options that may differ between the projects of a store. */
export const ProjectOptions = z.strictObject({
  root: z
    .string()
    .min(1)
    .optional()
    .describe("Folder that agents' tools and `mayWrite` keep to; other projects have none unless it is set.")
    .meta({ shownDefault: 'the project root' }),
  ...keeping,
  redact: z
    .boolean()
    .default(false)
    .describe('Removes API keys and tokens of known shapes from messages before they are stored.'),
  phases,
  turns,
  requests: RequestSettings.prefault({}).describe('Settings for building and compacting requests.'),
  references: z
    .union([z.literal('off'), ReferenceSettings])
    .prefault({})
    .describe("Settings for looking up references in messages, or `'off'` ([teams.md](teams.md))."),
  agents: AgentSettings.prefault({}).describe('Settings for running agents ([agents.md](agents.md)).'),
  work: BuildSettings.prefault({}).describe('Settings of teams that build features ([building.md](building.md)).'),
  features: ProjectFeatures.prefault({}).describe('Features that can be switched off in a project.'),
})
export type ProjectOptions = z.input<typeof ProjectOptions>

const isFunction = (value: unknown) => typeof value === 'function'

const Estimator = z.custom<TokenEstimator>(value => isFunction((value as TokenEstimator | null)?.count))

/** Options that a file may hold. */
const writable = {
  store: z
    .string()
    .optional()
    .describe('`sqlite:path`, `sqlite::memory:`, or `postgres://…` for many nodes ([postgres.md](postgres.md)).')
    .meta({ shownDefault: '`sqlite:.colloquy/colloquy.db` in the project root' }),
  project: Id.optional()
    .describe('Workspace that everything belongs to; nothing crosses it. Required in `/`, which has no name.')
    .meta({ shownDefault: 'name of the project root' }),
  archives: z
    .custom<string>(value => archivesProblem(value) === undefined, { error: issue => archivesProblem(issue.input) })
    .optional()
    .describe('Place of purged conversations: a folder, or `s3://bucket/prefix?endpoint=…` ([storage.md](storage.md)).')
    .meta({ shownDefault: '`archives` next to the store' }),
  durability: z
    .enum(['full', 'relaxed'])
    .default('full')
    .describe("`'relaxed'` skips the sync per commit: a power loss may take the last commits, a kill -9 takes none."),
  busyTimeoutMs: z.number().nonnegative().default(10_000).describe('Time a write waits for other processes.'),
  sweepEveryMs,
  executionLeaseMs,
  ...ProjectOptions.shape,
  dispatch: DispatchSettings.prefault({}).describe('Settings of the dispatcher ([work.md](work.md)).'),
  projects: z
    .record(Id, ProjectOptions)
    .default({})
    .describe('Options of single projects by name, over all others ([server.md](server.md#settings)).'),
  server: ServeSettings.optional().describe('Settings of `colloquy serve`.').meta({ shownDefault: '–' }),
}

export const OpenOptions = z.strictObject({
  ...writable,
  tokens: z
    .union([z.enum(['exact', 'fast']), Estimator], "must be 'exact', 'fast' or an estimator")
    .default('exact')
    .describe("Way of counting tokens: exactly (o200k), `'fast'`, by the provider (`providerTokens`), or your own."),
  readOnly: z.boolean().default(false).describe('Opens without writing anything.'),
  configuration: z
    .union([z.literal(true), z.string()], 'must be true or the path of a file')
    .optional()
    .describe('Reads the configuration file of the project root (`true`) or of a path, and the environment.'),
  model: ModelChoice.optional().describe(
    'Model that writes the summaries of compactions. Default: none, they are made offline ([models.md](models.md)).',
  ),
  resolvers: z
    .array(z.custom<ReferenceResolver>(value => isFunction((value as ReferenceResolver | null)?.resolve)))
    .readonly()
    .default([])
    .describe('Further sources of referenced content, asked before conversations and files.'),
  actor: z.string().default('local').describe('Author of writes, in the envelope of every event.'),
  channel: z.string().default('library').describe('Channel of writes, in the envelope of every event.'),
  clock: z
    .custom<() => number>(isFunction, 'must be a function')
    .optional()
    .describe('Milliseconds since 1970, for tests and replays.')
    .meta({ shownDefault: 'the system clock' }),
  ids: z
    .custom<() => string>(isFunction, 'must be a function')
    .optional()
    .describe('Maker of unique ids, for tests.')
    .meta({ shownDefault: 'UUIDs by time' }),
  tracer: z
    .custom<Tracer>()
    .optional()
    .describe('Tracer of OpenTelemetry, or one like it; it gets spans of append, assemble, compact and run.'),
})
export type OpenOptions = z.input<typeof OpenOptions>
/** Validated options, with their defaults. */
export type CheckedOptions = z.output<typeof OpenOptions>

/** The options of a configuration file. */
export const Configuration = z.strictObject({ ...writable, tokens: z.enum(['exact', 'fast']).optional() })
/** Settings as they are written, without defaults. */
export type Configuration = z.input<typeof Configuration>
