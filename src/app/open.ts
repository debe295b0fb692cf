/** Opens a store and puts the managers over it. */

import { liveChannel } from '../agents/runs/live.ts'
import { runKeeper } from '../agents/runs/run-keeper.ts'
import { autorun } from '../agents/scheduling/autorun.ts'
import { completeDispatchSettings, type DispatchSettingsInput } from '../agents/scheduling/dispatch-settings.ts'
import type { Dispatcher } from '../agents/scheduling/dispatcher.ts'
import type { RunningShift } from '../agents/team-access.ts'
import { newId } from '../conversation/access/new-id.ts'
import type { SettingsInput } from '../conversation/access/settings.ts'
import type { RequestSettings } from '../conversation/sessions/request-settings.ts'
import { lookAfter } from '../conversation/turns/due-conversations.ts'
import { executionKeeper } from '../conversation/turns/execution-time.ts'
import type { TeamSettingsInput } from '../conversation/turns/team-settings.ts'
import { InvalidInput, StoreUnusable } from '../errors.ts'
import { withoutUndefined } from '../log/commands/omit-undefined.ts'
import { engine } from '../log/engine.ts'
import { furthestTime } from '../log/events/time.ts'
import type { Store, StoreOptions } from '../log/store.ts'
import { withoutPassword } from '../log/store-address.ts'
import type { Model } from '../models/model.ts'
import { openModel } from '../models/open.ts'
import type { ReferenceResolver } from '../request/context/resolver.ts'
import { loadExactEstimator } from '../request/text/exact-tokens.ts'
import { fastEstimator, type TokenEstimator } from '../request/text/tokens.ts'
import { timerMs } from '../timers.ts'
import { type Tracer, traced } from '../tracing.ts'
import type { Colloquy } from './colloquy.ts'
import { archivesProblem, defaultArchives, openArchives } from './configuration/archive-places.ts'
import type { Configuration } from './configuration/configuration.ts'
import { defaultStore, projectName, projectRoot } from './configuration/project-root.ts'
import { readConfiguration, withoutOverridden } from './configuration/read-configuration.ts'
import { projectParts } from './project-parts.ts'
import { allProjectSettings, type ProjectOptions } from './project-settings.ts'
import { checkedScope, type Opened, Scoped, teamOf } from './scoped-colloquy.ts'
import { postgresDoor, sqliteDoor } from './store-doors.ts'
import { sweep } from './sweep.ts'
import { usageTotals } from './usage-totals.ts'

export interface OpenOptions
  extends ProjectOptions,
    Pick<SettingsInput, 'sweepEveryMs'>,
    Pick<TeamSettingsInput, 'executionLeaseMs'>,
    Partial<Pick<StoreOptions, 'durability' | 'busyTimeoutMs'>> {
  /** `sqlite:path`, `sqlite::memory:` or `postgres://…`. Default: `.colloquy/colloquy.db` in the project root. */
  store?: string
  /** The workspace all of this belongs to; nothing crosses it. Default: the name of the project root. */
  project?: string
  /** Who writes, unless a call says otherwise. */
  actor?: string
  /** Through what: 'library', 'cli', 'http' … */
  channel?: string
  /** Milliseconds since 1970, fractions left out; for tests and replays. */
  clock?: () => number
  /** Makes ids; for tests. They must be unique. */
  ids?: () => string
  /** How messages are counted: exactly (o200k, the default), fast, or by an estimator of yours. */
  tokens?: 'exact' | 'fast' | TokenEstimator
  /** Where purged conversations go: a folder, or `s3://bucket/prefix?endpoint=…`. Default: `archives` beside the store. */
  archives?: string
  /** Opens without writing anything. */
  readOnly?: boolean
  /**
   * Reads the project's configuration file (true: the one in the project root, or its path) and the environment; what
   * is given here wins over both. Nothing is read unless asked for.
   */
  configuration?: true | string
  /** Who else gives the content of what messages refer to; asked before those for conversations and files. */
  resolvers?: readonly ReferenceResolver[]
  /** Writes the summaries of compactions, as `provider:model` or opened; without one they are made offline. */
  model?: Model | string
  /** Puts spans around append, assemble, compact and run: a tracer of OpenTelemetry, or one like it. */
  tracer?: Tracer
  /** What some projects have otherwise than all of this says, by their names. */
  projects?: Readonly<Record<string, ProjectOptions>>
  /** How work is given to agents: how much at a time, when it is tried again, what stops it. */
  dispatch?: DispatchSettingsInput
}

/**
 * Opens a store and gives the managers over it.
 *
 * @throws {InvalidInput} naming an option that cannot be
 * @throws {StoreUnusable} when the place cannot be opened, is no store, or belongs to a newer version
 * @throws {ModelKeyMissing} when the model is given by name and its provider's key is missing
 */
export async function openColloquy(given: OpenOptions = {}): Promise<Colloquy> {
  refuseOtherThanOptions(given)
  const options = given.configuration === undefined ? given : await withConfiguration(given, given.configuration)
  refuseOddOptions(options)
  const root = rootAbove(process.cwd())
  const url = options.store ?? defaultStore(root())
  if (typeof url !== 'string') throw new StoreUnusable(`store: a ${typeof url} names no store. ${storeHint}`)
  const { ids = newId, tokens = 'exact' } = options
  const clock = options.clock ? wholeClock(options.clock) : Date.now
  const scope = checkedScope({
    project: options.project ?? projectName(root()),
    actor: options.actor ?? 'local',
    channel: options.channel ?? 'library',
  })
  const { projects = {} } = options
  const all = allProjectSettings({ project: scope.project, root, general: options, projects })
  const dispatching = completeDispatchSettings(options.dispatch)
  const model = typeof options.model === 'string' ? await openModel(options.model) : options.model
  const store = await openStore(url, { ...options, clock })
  const { tracer } = options
  const core = engine({ store, clock, newId: ids, traced: tracer && traced(tracer) })
  const estimator = estimatorOf(tokens)
  const place = lazily(() => openArchives(options.archives ?? defaultArchives(url, root)))
  // An archive is read where its address says it is, wherever new ones go.
  const archives = (address?: string) => (address === undefined ? place() : openArchives(address))
  const parts = projectParts(all, { engine: core, estimator, resolvers: options.resolvers ?? [] })
  const own = parts.of(scope.project)
  const keeper = executionKeeper(core, own.team.executionLeaseMs)
  const runs = runKeeper()
  const live = liveChannel()
  const dispatchers = new Map<Dispatcher, string>()
  const shifts = new Set<RunningShift>()
  const autoruns: Array<() => Promise<void>> = []
  const opened: Opened = {
    engine: core,
    store,
    parts,
    model,
    estimator,
    archives,
    keeper,
    totals: usageTotals(store),
    runs,
    live,
    models: new Map(),
    dispatching,
    dispatchers,
    shifts,
    nodes: {
      announceNode: node => store.announceNode(node),
      forgetNode: id => store.forgetNode(id),
      nodes: () => store.nodes(),
    },
    // Whoever closes it again waits for the same.
    close: lazily(async () => {
      clearInterval(timer)
      clearImmediate(first)
      for (const stop of autoruns) await stop()
      await Promise.all([...dispatchers.keys(), ...shifts].map(one => one.stop()))
      await runs.close()
      live.close()
      await parts.close()
      await keeper.close()
      await store.close()
    }),
  }
  const caretaker = { ...scope, actor: 'maintenance' }
  const { sweepEveryMs, archive } = own.settings
  const colleagues = () => teamOf(opened, caretaker)
  const sweeps = sweepEveryMs !== null && !options.readOnly
  // A failed sweep deletes and loses nothing; the next one comes.
  const timer = sweeps
    ? setInterval(
        () => sweep(core, caretaker, { archive, team: colleagues() }).catch(() => undefined),
        timerMs(sweepEveryMs!),
      ).unref()
    : undefined
  // What came due while nobody was here, crashed executions above all, need not wait for the first sweep; but whoever
  // opens to ask one thing goes first.
  const first = sweeps ? setImmediate(() => lookAfter(core, caretaker, colleagues()).catch(() => undefined)) : undefined

  const opening = new Scoped(opened, scope)
  try {
    for (const [project, { agents, features }] of options.readOnly ? [] : all.named) {
      if (agents.autorun && features.agents)
        autoruns.push(autorun(opening.as({ project }), agents, { engine: core, scope: { ...scope, project } }))
    }
  } catch (error) {
    // Whoever is refused has nothing that could be closed.
    await opening.close()
    throw error
  }
  return opening
}

function refuseOtherThanOptions(given: OpenOptions): void {
  if (typeof given !== 'object' || given === null)
    throw new InvalidInput('options', `must be an object such as { store: 'sqlite:path' }`)
  const { configuration } = given
  if (configuration !== undefined && configuration !== true && typeof configuration !== 'string')
    throw new InvalidInput('configuration', 'must be true or the path of a file')
}

/**
 * So that one that is misspelt is not passed over: what it was to change would stay as it is without a word. A
 * configuration may be handed in whole, with what is for the server in it.
 */
// biome-ignore format: a plain list
const optionNames: Readonly<Record<keyof OpenOptions | keyof Configuration, true>> = {
  server: true,
  store: true, project: true, projects: true, root: true, configuration: true, readOnly: true,
  actor: true, channel: true, clock: true, ids: true, tokens: true, tracer: true,
  durability: true, busyTimeoutMs: true, maxMessageBytes: true, archives: true, archive: true, sweepEveryMs: true,
  sessionExpiresInMs: true, sharing: true, features: true, redact: true, references: true, resolvers: true,
  model: true, requests: true, agents: true, work: true, dispatch: true,
  phases: true, turns: true, executionLeaseMs: true,
}

/**
 * What would otherwise come out only with the first message and under another name, or not at all.
 *
 * @throws {InvalidInput} naming the option
 */
function refuseOddOptions(given: OpenOptions): void {
  const unknown = Object.keys(given).find(name => !Object.hasOwn(optionNames, name))
  if (unknown !== undefined)
    throw new InvalidInput(unknown, 'is no option of openColloquy: docs/options.md has them all')
  const { clock, ids, tokens, durability, busyTimeoutMs, archives, resolvers } = given
  for (const name of ['readOnly', 'redact'] as const) {
    if (given[name] !== undefined && typeof given[name] !== 'boolean')
      throw new InvalidInput(name, 'must be true or false')
  }
  if (resolvers !== undefined && !Array.isArray(resolvers)) throw new InvalidInput('resolvers', 'must be a list')
  if (clock !== undefined && typeof clock !== 'function') throw new InvalidInput('clock', 'must be a function')
  if (ids !== undefined && typeof ids !== 'function') throw new InvalidInput('ids', 'must be a function')
  const isCounter = typeof tokens === 'object' && typeof tokens?.count === 'function'
  if (![undefined, 'exact', 'fast'].includes(tokens as string | undefined) && !isCounter)
    throw new InvalidInput('tokens', `must be 'exact', 'fast' or an estimator`)
  if (![undefined, 'full', 'relaxed'].includes(durability))
    throw new InvalidInput('durability', `must be 'full' or 'relaxed'`)
  if (busyTimeoutMs !== undefined && !(busyTimeoutMs >= 0))
    throw new InvalidInput('busyTimeoutMs', 'must not be negative')
  const problem = archives === undefined ? undefined : archivesProblem(archives)
  if (problem) throw new InvalidInput('archives', problem)
}

/**
 * Times are recorded in whole milliseconds: one with a fraction would not be the same in the log and in an archive.
 *
 * @throws {InvalidInput} when it is asked and gives no time
 */
function wholeClock(clock: () => number): () => number {
  return () => {
    const now = clock()
    if (typeof now === 'number' && Math.abs(now) <= furthestTime) return Math.trunc(now)
    throw new InvalidInput('clock', `must give milliseconds since 1970, and gave ${String(now)}`)
  }
}

/** What the caller gives wins key by key over what the project's configuration says. */
async function withConfiguration(given: OpenOptions, from: true | string): Promise<OpenOptions> {
  const read = await readConfiguration(from === true ? {} : { file: from })
  const { requests, sharing, archive, projects, ...options } = given
  return {
    ...(read as OpenOptions),
    ...withoutUndefined(options),
    requests: { ...(read.requests as Partial<RequestSettings>), ...requests },
    sharing: { ...(read.sharing as OpenOptions['sharing']), ...sharing },
    archive: { ...(read.archive as OpenOptions['archive']), ...archive },
    projects: { ...(withoutOverridden(read.projects ?? {}, given) as OpenOptions['projects']), ...projects },
  }
}

const storeHint = 'Use sqlite:path, sqlite::memory: or postgres://….'

async function openStore(url: string, options: StoreOptions & { readOnly?: boolean }): Promise<Store> {
  const [scheme, rest = ''] = splitOnce(url, ':')
  if (url.includes('\0')) throw new StoreUnusable('store: no path and no address has a NUL in it.')
  if (scheme === 'sqlite' && rest !== '') return (await sqliteDoor()).sqliteStore(rest, options)
  if (scheme === 'postgres' || scheme === 'postgresql') return (await postgresDoor()).postgresStore(url, options)
  const named = withoutPassword(url)
  throw new StoreUnusable(`"${named}" names no store. ${storeHint}`, { url: named })
}

function estimatorOf(tokens: 'exact' | 'fast' | TokenEstimator): () => TokenEstimator | Promise<TokenEstimator> {
  if (tokens === 'fast') return () => fastEstimator
  if (tokens !== 'exact') return () => tokens
  let loaded: TokenEstimator | undefined
  const load = lazily(async () => {
    loaded = await loadExactEstimator()
    return loaded
  })
  return () => loaded ?? load()
}

/** Looked for once, when somebody needs it: that takes as long as a question to the store. */
function rootAbove(folder: string): () => string {
  let found: string | undefined
  return () => (found ??= projectRoot(folder))
}

function lazily<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined
  return () => (made ??= make())
}

function splitOnce(text: string, separator: string): [string, string?] {
  const at = text.indexOf(separator)
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + separator.length)]
}
