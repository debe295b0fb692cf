/** Opens a store and puts the managers over it. */
import { basename, dirname, join, resolve } from 'node:path'
import { liveChannel } from '../agent/live.ts'
import type { ReferenceResolver } from '../context/resolver.ts'
import { engine, type RecordedListener, type Scope } from '../engine.ts'
import { IllegalState, InvalidInput, StoreUnusable } from '../errors.ts'
import { idProblem } from '../events/id.ts'
import type { AuditEntry, AuditQuery } from '../log/accounts.ts'
import type { ArchivePlace } from '../log/archive-place.ts'
import type { Listed, ProjectTotals } from '../log/directory.ts'
import type { Nodes } from '../log/nodes.ts'
import type { Store, StoreOptions, WriteQueue } from '../log/store.ts'
import type { Progress, RepairReport, VerifyReport } from '../log/upkeep.ts'
import type { Model } from '../models/model.ts'
import { type ModelQueue, modelQueues, openModel } from '../models/open.ts'
import { loadExactEstimator } from '../request/exact-tokens.ts'
import { fastEstimator, type TokenEstimator } from '../request/tokens.ts'
import { type Tracer, traced } from '../tracing.ts'
import { type Update, updateOf } from '../views/update.ts'
import type { Dispatcher } from '../work/dispatcher.ts'
import type { OrchestrationResult } from '../work/orchestrator.ts'
import { AgentManager } from './agent-manager.ts'
import { agentViews } from './agent-views.ts'
import { autorun } from './autorun.ts'
import { branches } from './branches.ts'
import { computedSections } from './computed-sections.ts'
import { ConversationManager } from './conversation-manager.ts'
import { DispatchManager } from './dispatch-manager.ts'
import { completeDispatchSettings, type DispatchSettingsInput } from './dispatch-settings.ts'
import { executionKeeper } from './execution-time.ts'
import { newId } from './new-id.ts'
import { type OrchestrateOptions, runOrchestrator } from './orchestrations.ts'
import { past } from './past.ts'
import { type ProjectParts, projectParts } from './project-parts.ts'
import { defaultStore, projectRoot } from './project-root.ts'
import { allProjectSettings, type ProjectOptions } from './project-settings.ts'
import { readConfiguration, withoutOverridden } from './read-configuration.ts'
import { references } from './references.ts'
import type { RequestSettings } from './request-settings.ts'
import { runKeeper } from './run-keeper.ts'
import { SessionManager } from './session-manager.ts'
import { sessionRequests } from './session-requests.ts'
import type { SettingsInput } from './settings.ts'
import { type Swept, sweep } from './sweep.ts'
import { taskWorker } from './task-worker.ts'
import { team } from './team.ts'
import { TeamManager } from './team-manager.ts'
import type { RunningShift, TeamParts } from './team-parts.ts'
import type { TeamSettingsInput } from './team-settings.ts'
import { lookAfter } from './team-sweep.ts'
import { type TotalsPage, type UsageTotals, usageTotals } from './usage-totals.ts'
import { WorkManager } from './work-manager.ts'

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
  /** Milliseconds since 1970; for tests and replays. */
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

export interface UpdatesOptions {
  /** 'start', 'now' (default), or the position of the last update seen. */
  from?: string
  conversationId?: string
  sessionId?: string
  name?: Update['name']
  signal?: AbortSignal
}

export interface Queues {
  writes: WriteQueue
  models: ModelQueue[]
  live: { readers: number; characters: number }
  /** Runs under way in this process. */
  runs: number
}

export interface Colloquy {
  readonly project: string
  /** The project's folder, if it has one. */
  readonly root: string | undefined
  readonly sessions: SessionManager
  readonly conversations: ConversationManager
  readonly agents: AgentManager
  readonly work: WorkManager
  readonly dispatcher: DispatchManager
  /**
   * Has the orchestrator route on a conversation until there is nothing left to do: it decides who acts, runs them, and
   * waits for them. However many processes try, one routes.
   *
   * @throws {ModelMissing} when no model is named for it
   */
  orchestrate(conversationId: string, options?: OrchestrateOptions): Promise<OrchestrationResult>
  /** Teams that build features. */
  readonly team: TeamManager
  /**
   * Tells of what this process records in any project, right behind each commit, until it is called off: for figures.
   * Whoever must miss nothing subscribes.
   */
  onRecorded(listener: RecordedListener): () => void
  /** Every update of the project once, in order, resumable by position. */
  subscribe(options?: UpdatesOptions): AsyncIterableIterator<Update>
  /** Checks every hash, refolds every head, reports each damaged record. Changes nothing. */
  verify(options?: { onProgress?: Progress; allProjects?: boolean }): Promise<VerifyReport>
  /**
   * Puts right what is derived from the log: heads that differ from it, and the full-text index. Changes nothing in it.
   *
   * @throws {StoreUnusable} when the store has no such thing
   */
  repair(options?: { onProgress?: Progress; allProjects?: boolean }): Promise<RepairReport>
  /** Totals of the project. */
  stats(): Promise<ProjectTotals>
  /** Tokens and cost by agent, model and conversation, as providers reported them; conversations in pages. */
  totals(page?: TotalsPage): Promise<UsageTotals>
  /** Who did what, when and through what: the envelopes of the log, newest first, in pages. */
  audit(query?: Omit<AuditQuery, 'project'>): Promise<Listed<AuditEntry>>
  /** What waits in this process, of all projects: writes for a commit, calls for their model, live words for readers. */
  queues(): Queues
  /** The processes that serve this store, of all projects. */
  readonly nodes: Nodes
  /** Runs the maintenance sweep now. */
  maintain(): Promise<Swept>
  /**
   * The same store as somebody else, through something else, or in another project. `settings` hold there instead of
   * those it was opened with, for whoever uses this object.
   */
  as(scope: Partial<Scope>, settings?: ProjectOptions): Colloquy
  /** The projects this store holds. */
  projects(): Promise<string[]>
  close(): Promise<void>
}

/**
 * Opens a store and gives the managers over it.
 *
 * @throws {StoreUnusable} when the place cannot be opened, is no store, or belongs to a newer version
 * @throws {ModelKeyMissing} when the model is given by name and its provider's key is missing
 */
export async function openColloquy(given: OpenOptions = {}): Promise<Colloquy> {
  const options = given.configuration === undefined ? given : await withConfiguration(given, given.configuration)
  const root = projectRoot()
  const url = options.store ?? defaultStore(root)
  const { clock = Date.now, ids = newId, tokens = 'exact' } = options
  const scope = checkedScope({
    project: options.project ?? basename(root),
    actor: options.actor ?? 'local',
    channel: options.channel ?? 'library',
  })
  const { projects = {} } = options
  const all = allProjectSettings({ project: scope.project, root, general: options, projects })
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
  const totals = usageTotals(store)
  const runs = runKeeper()
  const live = liveChannel()
  const opened = new Map<string, Promise<Model>>()
  const dispatching = completeDispatchSettings(options.dispatch)
  const dispatchers = new Map<Dispatcher, string>()
  const shifts = new Set<RunningShift>()
  const teamOf = (scope: Scope, { scribe, team: settings, root } = parts.of(scope.project)) => {
    return team({ engine: core, scope, scribe, settings, keeper, root })
  }
  const caretaker = { ...scope, actor: 'maintenance' }
  const sweeping = { archive: own.settings.archive, team: teamOf(caretaker) }
  const { sweepEveryMs } = own.settings
  const sweeps = sweepEveryMs !== null && !options.readOnly
  // A failed sweep deletes and loses nothing; the next one comes.
  const timer = sweeps
    ? setInterval(() => sweep(core, caretaker, sweeping).catch(() => undefined), sweepEveryMs!).unref()
    : undefined
  // What came due while nobody was here, crashed executions above all, need not wait for the first sweep; but whoever
  // opens to ask one thing goes first.
  const first = sweeps
    ? setImmediate(() => lookAfter(core, caretaker, sweeping.team).catch(() => undefined))
    : undefined

  const autoruns: Array<() => Promise<void>> = []
  const nodes: Nodes = {
    announceNode: node => store.announceNode(node),
    forgetNode: id => store.forgetNode(id),
    nodes: () => store.nodes(),
  }

  /** Each part when it is first asked for: a server makes one of these for every request, and most need one part. */
  function within(scope: Scope, meant?: ProjectParts): Colloquy {
    const ownParts = meant ?? parts.of(scope.project)
    const {
      settings,
      team: teamSettings,
      requests,
      scribe,
      desk,
      agents,
      building: buildSettings,
      root,
      mcp,
      features,
    } = ownParts
    const base = { engine: core, scope, scribe }
    const asked = once(() =>
      sessionRequests({ engine: core, scope, settings: requests, model, estimator, computed: computedSections }),
    )
    const views = once(() => {
      const lookedUp = references({ ...base, estimator, desk })
      return agentViews({ engine: core, scope, settings, requests: asked(), references: lookedUp })
    })
    const team = once(() => teamOf(scope, ownParts))
    const { phases } = teamSettings
    const sessions = once(() => new SessionManager({ ...base, settings, requests: asked, phases }))
    const work = once(() => new WorkManager({ engine: core, scope, phases, sessions: sessions() }))
    const conversations = once(
      () =>
        new ConversationManager({
          ...base,
          archives,
          team: team(),
          views: views(),
          branches: branches(base),
          past: past({ engine: core, scope, requests: asked(), views: views() }),
        }),
    )
    const managedBy = (scope: Scope) =>
      new AgentManager({
        ...base,
        scope,
        requests: asked(),
        views: views(),
        team: teamOf(scope, ownParts),
        settings: agents,
        isOn: features.agents,
        defaultModel: requests.model,
        root,
        live,
        keeper: runs,
        opened,
        mcp,
      })
    const agentManager = once(() => managedBy(scope))
    /** @throws {IllegalState} when the project has no folder */
    const buildsWith = once((): TeamParts => {
      if (root === undefined) {
        throw new IllegalState(`A team builds in the project's folder: projects.${scope.project}.root is missing.`, {
          project: scope.project,
        })
      }
      return {
        engine: core,
        scope,
        sessions: sessions(),
        agents: agentManager(),
        agentsAs: actor => managedBy({ ...scope, actor }),
        work: work(),
        settings: buildSettings,
        root,
        shifts,
      }
    })
    const builders = once(() => new TeamManager(buildsWith()))
    const dispatcher = once(
      () =>
        new DispatchManager({
          engine: core,
          scope,
          phases,
          work: work(),
          sessions: sessions(),
          agents: agentManager(),
          settings: dispatching,
          running: dispatchers,
          ...(root !== undefined && { task: taskWorker(buildsWith()) }),
        }),
    )
    return {
      project: scope.project,
      root,
      get sessions() {
        return sessions()
      },
      get work() {
        return work()
      },
      get conversations() {
        return conversations()
      },
      get agents() {
        return agentManager()
      },
      get team() {
        return builders()
      },
      get dispatcher() {
        return dispatcher()
      },
      orchestrate: (conversationId, options) =>
        runOrchestrator(
          {
            ...base,
            views: views(),
            team: team(),
            agents: agentManager(),
            settings: agents,
            requests,
            estimator,
            keeper: runs,
          },
          conversationId,
          options,
        ),
      onRecorded: listener => core.onRecorded(listener),
      subscribe: (options = {}) => updates(store, scope.project, options),
      verify: ({ onProgress, allProjects = false } = {}) =>
        store.verify({ ...(!allProjects && { project: scope.project }), ...(onProgress && { onProgress }) }),
      async repair({ onProgress, allProjects = false } = {}) {
        if (!store.repair) throw new StoreUnusable('This store cannot be repaired: it derives nothing from its log.')
        return store.repair({ ...(!allProjects && { project: scope.project }), ...(onProgress && { onProgress }) })
      },
      stats: () => store.totals(scope.project),
      totals: page => totals(scope.project, page),
      audit: (query = {}) => store.audit({ ...query, project: scope.project }),
      queues: () => ({ writes: store.queue(), models: modelQueues(), live: live.queue(), runs: runs.count() }),
      nodes,
      maintain: () => sweep(core, scope, { archive: settings.archive, team: team() }),
      as(changes, settings) {
        const next = checkedScope({ ...scope, ...changes })
        return within(next, settings ? parts.made(settings) : next.project === scope.project ? meant : undefined)
      },
      projects: () => store.projects(),
      async close() {
        clearInterval(timer)
        clearImmediate(first)
        for (const stop of autoruns) await stop()
        await Promise.all([...dispatchers.keys(), ...shifts].map(one => one.stop()))
        await runs.close()
        live.close()
        await parts.close()
        await keeper.close()
        await store.close()
      },
    }
  }
  const opening = within(scope)
  for (const [project, { agents, features }] of options.readOnly ? [] : all.named) {
    if (agents.autorun && features.agents)
      autoruns.push(autorun(opening.as({ project }), agents, { engine: core, scope: { ...scope, project } }))
  }
  return opening
}

/** What the caller gives wins key by key over what the project's configuration says. */
async function withConfiguration(given: OpenOptions, from: true | string): Promise<OpenOptions> {
  const read = await readConfiguration(from === true ? {} : { file: from })
  const { requests, sharing, archive, projects, ...options } = given
  const own = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
  return {
    ...(read as OpenOptions),
    ...own,
    requests: { ...(read.requests as Partial<RequestSettings>), ...requests },
    sharing: { ...(read.sharing as OpenOptions['sharing']), ...sharing },
    archive: { ...(read.archive as OpenOptions['archive']), ...archive },
    projects: { ...(withoutOverridden(read.projects ?? {}, given) as OpenOptions['projects']), ...projects },
  }
}

/** By hand: a server asks for one with every request. @throws {InvalidInput} naming the field */
function checkedScope({ project, actor, channel, requestId }: Scope): Scope {
  refuseOddId('project', project)
  refuseOddId('actor', actor)
  refuseOddId('channel', channel)
  if (requestId === undefined) return { project, actor, channel }
  refuseOddId('requestId', requestId)
  return { project, actor, channel, requestId }
}

function refuseOddId(field: string, value: unknown): void {
  const problem = typeof value === 'string' ? idProblem(value) : 'must be text'
  if (problem) throw new InvalidInput(field, problem)
}

/** Kept, because asking the loader again takes as long as opening the file. */
let sqliteDoor: typeof import('../stores/sqlite/index.ts') | undefined
let postgresDoor: typeof import('../stores/postgres/index.ts') | undefined

/** Loads the door of the store that the URL names, so that nobody pays for one they do not use. */
async function openStore(url: string, options: StoreOptions & { readOnly?: boolean }): Promise<Store> {
  const [scheme, rest = ''] = splitOnce(url, ':')
  if (scheme === 'sqlite' && rest !== '') {
    sqliteDoor ??= await import('../stores/sqlite/index.ts')
    return sqliteDoor.sqliteStore(rest, options)
  }
  if (scheme === 'postgres' || scheme === 'postgresql') {
    postgresDoor ??= await import('../stores/postgres/index.ts')
    return postgresDoor.postgresStore(url, options)
  }
  throw new StoreUnusable(`"${url}" names no store. Use sqlite:path, sqlite::memory: or postgres://….`, { url })
}

async function openArchives(address: string): Promise<ArchivePlace> {
  if (address.startsWith('s3:')) return (await import('../stores/archives/s3.ts')).s3Archives(address)
  return (await import('../stores/archives/folder.ts')).folderArchives(address)
}

function defaultArchives(url: string, root: string): string {
  const [scheme, path = ''] = splitOnce(url, ':')
  return join(
    scheme !== 'sqlite' || path === '' || path === ':memory:' ? join(root, '.colloquy') : dirname(resolve(path)),
    'archives',
  )
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

/** The log's own subscription, named and filtered. It starts where the log is when this is called. */
function updates(store: Store, project: string, options: UpdatesOptions): AsyncIterableIterator<Update> {
  const { conversationId, sessionId, name, from, signal } = options
  const events = store.subscribe({ project, ...(from !== undefined && { from }), ...(signal && { signal }) })
  const wanted = (update: Update) =>
    (conversationId === undefined || update.conversationId === conversationId) &&
    (name === undefined || update.name === name) &&
    (sessionId === undefined || ('sessionId' in update && update.sessionId === sessionId))
  return {
    async next() {
      for (;;) {
        const { done, value } = await events.next()
        if (done) return { done: true, value: undefined }
        const update = updateOf(value)
        if (wanted(update)) return { done: false, value: update }
      }
    },
    async return() {
      await events.return?.()
      return { done: true, value: undefined }
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

function lazily<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined
  return () => (made ??= make())
}

function splitOnce(text: string, separator: string): [string, string?] {
  const at = text.indexOf(separator)
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + separator.length)]
}
