/**
 * What a project's configuration file may say: a closed schema. A key nobody knows is an error that names the nearest
 * known one, because a setting that is silently not in force is worse than none.
 */
import { z } from 'zod'
import { ReferencesInput } from '../../conversation/references/reference-settings.ts'
import { ConfigurationInvalid } from '../../errors.ts'
import { DurationMs, WaitMs } from '../../log/commands/duration.ts'
import { withoutUndefined } from '../../log/commands/omit-undefined.ts'
import { PhaseSet } from '../../log/commands/phase-set.ts'
import { Id } from '../../log/events/id.ts'
import { Sharing } from '../../log/events/session.ts'
import { Strategy } from '../../log/events/strategy.ts'
import { fromSeedConfiguration, SeedConversationInput } from './loom-configuration.ts'

const Count = z.int().positive()
const Share = z.number().gt(0).lte(1)

const [checkpoint, slidingWindow, summarization, recent] = Strategy.options

/** A name alone, or a name and its numbers. */
const ConfiguredStrategy = z.preprocess(
  value => (typeof value === 'string' ? { name: value } : value),
  z.discriminatedUnion('name', [checkpoint.strict(), slidingWindow.strict(), summarization.strict(), recent.strict()]),
)

export const RequestsInput = z
  .strictObject({
    budget: Count,
    model: z.string().min(1),
    models: z.record(
      z.string().min(1),
      z.strictObject({ contextWindow: Count, outputLimit: Count, inputLimit: Count.optional() }),
    ),
    outputReserve: z.int().nonnegative(),
    buffer: z.int().nonnegative(),
    strategy: ConfiguredStrategy,
    warn: Share,
    trigger: Share,
    target: Share,
    background: Share,
    everyMessages: Count.nullable(),
    answerWithinMs: DurationMs,
    recall: z.boolean(),
  })
  .partial()

/** What `colloquy serve` goes by. */
const ServerInput = z
  .strictObject({
    host: z.string().min(1),
    port: z.int().min(0).max(65_535),
    /** Listens where others can reach it. */
    allowOutside: z.boolean(),
    tokenFile: z.string().min(1),
    hosts: z.array(z.string().min(1)),
    origins: z.array(z.url()),
    /** The path that a proxy serves it below. */
    basePath: z.string().regex(/^[\w/.~-]*$/, 'must be a plain path such as /colloquy'),
    traceLevel: z.enum(['debug', 'info', 'warn', 'error', 'silent']),
    /** Tells OpenTelemetry of appends, requests, compactions and runs. */
    spans: z.boolean(),
    limits: z
      .strictObject({
        bodyBytes: Count,
        depth: Count,
        streams: Count,
        requestsPerSecond: Count.nullable(),
      })
      .partial(),
  })
  .partial()

/** US dollars per million tokens. */
const Price = {
  input: z.number().nonnegative(),
  output: z.number().nonnegative(),
  cacheRead: z.number().nonnegative().exactOptional(),
  cacheWrite: z.number().nonnegative().exactOptional(),
}

/** How agents are run, as far as it can be written down. */
const AgentsInput = z
  .strictObject({
    model: z.string().min(1),
    models: z.record(z.string().min(1), z.string().min(1)),
    prices: z.record(z.string().min(1), z.strictObject(Price)),
    concurrency: z.union([Count, z.record(z.string().min(1), Count)]),
    commands: z.record(z.string().min(1), z.array(z.string().min(1))),
    limits: z.strictObject({ commandMs: DurationMs, characters: Count, answerWithinMs: DurationMs }).partial(),
    maxSteps: Count,
    leaseMs: DurationMs,
    mcp: z.record(
      z.string().regex(/^[\w-]+$/),
      z.strictObject({
        command: z.string().min(1),
        args: z.array(z.string()).optional(),
        env: z.record(z.string(), z.string()).optional(),
        agents: z.array(z.string().min(1)).optional(),
      }),
    ),
    singleShot: z.boolean(),
    autorun: z.boolean(),
    defaultAgent: z.string().min(1),
    orchestrator: z
      .strictObject({
        agents: z.record(z.string().min(1), z.string()),
        outside: z.array(z.string().min(1)),
      })
      .partial(),
  })
  .partial()

/** How teams build. */
const WorkInput = z
  .strictObject({
    checks: z.record(z.string().min(1), z.string().min(1)),
    setup: z.array(z.string().min(1)),
    checkMs: DurationMs,
    limits: z.strictObject({ iterations: Count, tokens: Count.nullable(), unchanged: Count }).partial(),
    returns: Count,
    worktrees: z.string().min(1),
    movesCheckouts: z.boolean(),
    approvals: z.enum(['person', 'agent', 'yes', 'no']),
    leaseMs: DurationMs,
  })
  .partial()

/** How work is given to agents. */
const DispatchInput = z
  .strictObject({
    serve: z.boolean(),
    agent: z.string().min(1),
    concurrency: Count,
    perProject: Count.nullable(),
    perModel: z.record(z.string().min(1), Count),
    leaseMs: DurationMs,
    lookEveryMs: DurationMs,
    guards: z
      .strictObject({
        hopLimit: Count,
        alternations: Count,
        noProgress: Count,
        likeness: Share,
        failures: Count,
        crashes: Count,
        coolDownMs: WaitMs,
        backOffMs: WaitMs,
        mostBackOffMs: WaitMs,
      })
      .partial(),
  })
  .partial()

/** How messages and sessions are kept. */
const keeping = {
  sessionExpiresInMs: DurationMs.nullable(),
  maxMessageBytes: Count,
  sharing: z.strictObject({ feature: Sharing, task: Sharing, bead: Sharing, thread: Sharing }).partial(),
  archive: z
    .strictObject({
      onCompletion: z.boolean(),
      afterMs: DurationMs.nullable(),
      inactiveForMs: DurationMs.nullable(),
    })
    .partial(),
}

export const KeepingInput = z.strictObject({ ...keeping, sweepEveryMs: DurationMs.nullable() }).partial()

/** What may differ between the projects of a store. */
const ofProject = {
  root: z.string().min(1),
  ...keeping,
  redact: z.boolean(),
  phases: z.union([z.enum(['default', 'none']), PhaseSet]),
  requests: RequestsInput,
  references: z.union([z.literal('off'), ReferencesInput]),
  agents: AgentsInput,
  work: WorkInput,
  features: z.strictObject({ agents: z.boolean(), conversations: z.boolean() }).partial(),
}

const ProjectInput = z.strictObject(ofProject).partial()

const Written = z
  .strictObject({
    store: z.string().min(1),
    project: z.string().min(1),
    archives: z.string().min(1),
    tokens: z.enum(['exact', 'fast']),
    durability: z.enum(['full', 'relaxed']),
    busyTimeoutMs: z.int().nonnegative(),
    sweepEveryMs: DurationMs.nullable(),
    ...ofProject,
    server: ServerInput,
    conversation: SeedConversationInput,
    projects: z.record(Id, ProjectInput),
    dispatch: DispatchInput,
  })
  .partial()

/** What is written, with seed 003's block turned into ours. */
export const Configuration = Written.omit({ conversation: true })
export type Configuration = z.output<typeof Configuration>

/** The line a setting stands on, where it comes from a file. */
type LineOf = (path: readonly string[]) => number | undefined

/** @throws {ConfigurationInvalid} naming the field and its line, and for an unknown key the nearest known one */
export function checkConfiguration(value: unknown, from: string, lineOf: LineOf = () => undefined): Configuration {
  const result = Written.safeParse(value ?? {})
  if (result.success) return inOurNames(withoutUndefined(result.data), from, lineOf)
  const issue = result.error.issues[0]!
  const place = issue.path.map(String)
  const at = (path: readonly string[]) => {
    const line = lineOf(path)
    return line === undefined ? { from } : { from, line }
  }
  if (issue.code !== 'unrecognized_keys') {
    throw new ConfigurationInvalid({
      ...at(place),
      field: place.join('.') || 'the whole file',
      reason: issue.message,
    })
  }
  const key = issue.keys[0]!
  const known = keysAt(Written, place, value)
  const nearest = nearestTo(key, known)
  throw new ConfigurationInvalid({
    ...at([...place, key]),
    field: [...place, key].join('.'),
    reason: `there is no such setting${nearest ? `; did you mean "${nearest}"?` : `. Known are ${known.join(', ')}.`}`,
    ...(nearest !== undefined && { nearest }),
  })
}

/** One setting under two names would leave open which holds, so that is an error. */
function inOurNames({ conversation, ...own }: z.output<typeof Written>, from: string, lineOf: LineOf): Configuration {
  if (conversation === undefined) return own
  const { requests, ...seeds } = fromSeedConfiguration(conversation)
  const twice = [
    ...Object.keys(seeds).filter(key => key in own),
    ...Object.keys(requests).flatMap(key => (own.requests && key in own.requests ? [`requests.${key}`] : [])),
  ][0]
  if (twice !== undefined) {
    const line = lineOf(['conversation'])
    throw new ConfigurationInvalid({
      from,
      ...(line !== undefined && { line }),
      field: 'conversation',
      reason: `it says what ${twice} says, too; keep one of them`,
    })
  }
  const asked = { ...own.requests, ...requests }
  return { ...own, ...seeds, ...(Object.keys(asked).length > 0 && { requests: asked }) }
}

/** Names of the keys that may stand at a place. */
function keysAt(schema: z.ZodType, place: readonly string[], value: unknown): string[] {
  const plain = unwrapped(schema)
  const [key, ...rest] = place
  if (plain instanceof z.ZodObject) {
    if (key === undefined) return Object.keys(plain.shape)
    const inner = plain.shape[key] as z.ZodType | undefined
    return inner ? keysAt(inner, rest, within(value, key)) : []
  }
  if (plain instanceof z.ZodRecord && key !== undefined)
    return keysAt(plain.valueType as z.ZodType, rest, within(value, key))
  if (plain instanceof z.ZodDiscriminatedUnion) {
    const name = within(value, 'name')
    const options = plain.options as readonly z.ZodObject[]
    const meant = options.find(option => (option.shape.name as z.ZodLiteral).value === name)
    return Object.keys(meant?.shape ?? {})
  }
  return []
}

function unwrapped(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) return unwrapped(schema.unwrap() as z.ZodType)
  if (schema instanceof z.ZodPipe) return unwrapped(schema.out as z.ZodType)
  return schema
}

function within(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[key] : undefined
}

/** The known name with the fewest changed letters, if it is near enough to be meant. */
function nearestTo(key: string, known: readonly string[]): string | undefined {
  let best: { name: string; distance: number } | undefined
  for (const name of known) {
    const distance = distanceOf(key.toLowerCase().replace(/[-_]/g, ''), name.toLowerCase())
    if (!best || distance < best.distance) best = { name, distance }
  }
  return best && best.distance <= Math.max(2, Math.floor(key.length / 3)) ? best.name : undefined
}

function distanceOf(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, at) => at)
  for (let i = 1; i <= one.length; i++) {
    const next = [i]
    for (let j = 1; j <= other.length; j++) {
      const change = row[j - 1]! + (one[i - 1] === other[j - 1] ? 0 : 1)
      next[j] = Math.min(change, row[j]! + 1, next[j - 1]! + 1)
    }
    row = next
  }
  return row[other.length]!
}
