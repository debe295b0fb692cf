/**
 * The `Colloquy` object: an open store for one actor, channel and project. Its managers are created at their first use,
 * because a server creates an object for every request and most need one manager.
 */

import { AgentManager } from '../agents/runs/agent-manager.ts'
import type { LiveChannel } from '../agents/runs/live-channel.ts'
import type { RunKeeper } from '../agents/runs/run-keeper.ts'
import { DispatchManager } from '../agents/scheduling/dispatch-manager.ts'
import type { DispatchSettings } from '../agents/scheduling/dispatch-settings.ts'
import type { Dispatcher } from '../agents/scheduling/dispatcher.ts'
import { runOrchestrator } from '../agents/scheduling/orchestration.ts'
import type { TaskWorker } from '../agents/scheduling/worker.ts'
import { type RunningShift, type TeamParts, teamParts } from '../agents/team-access.ts'
import { checkAsked } from '../conversation/access/input-schemas.ts'
import { updates } from '../conversation/access/updates.ts'
import { branches } from '../conversation/lifecycle/branches.ts'
import { ConversationManager } from '../conversation/lifecycle/conversation-manager.ts'
import { past } from '../conversation/lifecycle/time-travel.ts'
import { references } from '../conversation/references/references.ts'
import { computedSections } from '../conversation/sessions/computed-sections.ts'
import { SessionManager } from '../conversation/sessions/session-manager.ts'
import { type SessionRequests, sessionRequests } from '../conversation/sessions/session-requests.ts'
import { type AgentViews, agentViews } from '../conversation/turns/agent-views.ts'
import type { ExecutionKeeper } from '../conversation/turns/execution-time.ts'
import { type Team, team } from '../conversation/turns/team-parts.ts'
import { workInputs } from '../conversation/work/work-context.ts'
import { WorkManager } from '../conversation/work/work-manager.ts'
import { IllegalState, InvalidInput } from '../errors.ts'
import type { ArchivePlace } from '../log/archive-place.ts'
import type { Engine, Scope } from '../log/engine.ts'
import { idProblem } from '../log/events/id.ts'
import type { Nodes } from '../log/nodes.ts'
import type { StoreCalls } from '../log/store.ts'
import type { Progress } from '../log/upkeep.ts'
import type { Model } from '../models/model.ts'
import { modelQueues } from '../models/open.ts'
import type { TokenEstimator } from '../request/text/tokens.ts'
import type { Colloquy } from './colloquy.ts'
import type { AllProjectParts, ProjectParts } from './project-parts.ts'
import { sweep } from './sweep.ts'
import type { Totals, TotalsPage } from './totals.ts'

/** The parts that all `Colloquy` objects of one open store share. */
export interface Opened {
  engine: Engine
  store: StoreCalls
  parts: AllProjectParts
  /** Writes the summaries of compactions. */
  model: Model | undefined
  estimator: () => TokenEstimator | Promise<TokenEstimator>
  archives: (address?: string) => Promise<ArchivePlace>
  keeper: ExecutionKeeper
  totals: (project: string, page?: TotalsPage) => Promise<Totals>
  runs: RunKeeper
  live: LiveChannel
  /** Models that were opened by name. */
  models: Map<string, Promise<Model>>
  dispatching: DispatchSettings
  dispatchers: Map<Dispatcher, string>
  shifts: Set<RunningShift>
  nodes: Nodes
  close(): Promise<void>
}

export function teamOf({ engine, keeper, parts }: Opened, scope: Scope, project = parts.of(scope.project)): Team {
  const { scribe, team: settings, root } = project
  return team({ engine, scope, scribe, settings, keeper, root })
}

/** Methods are arrow functions, so that callers can pass them on without `this`. */
export class Scoped implements Colloquy {
  readonly project: string
  readonly nodes: Nodes
  readonly #opened: Opened
  readonly #scope: Scope
  readonly #project: ProjectParts
  readonly #overrides: ProjectParts | undefined
  #cachedRequests: SessionRequests | undefined
  #cachedViews: AgentViews | undefined
  #cachedTeam: Team | undefined
  #cachedTeamParts: TeamParts | undefined
  #sessions: SessionManager | undefined
  #conversations: ConversationManager | undefined
  #agents: AgentManager | undefined
  #work: WorkManager | undefined
  #dispatcher: DispatchManager | undefined

  /** `overrides` replace the parts with the project's settings. */
  constructor(opened: Opened, scope: Scope, overrides?: ProjectParts) {
    this.#opened = opened
    this.#scope = scope
    this.#overrides = overrides
    this.#project = overrides ?? opened.parts.of(scope.project)
    this.project = scope.project
    this.nodes = opened.nodes
  }

  get root(): string | undefined {
    return this.#project.root
  }

  get sessions(): SessionManager {
    const { settings, team } = this.#project
    const requests = () => this.#requests
    this.#sessions ??= new SessionManager({ ...this.#base, settings, requests, phases: team.phases })
    return this.#sessions
  }

  get conversations(): ConversationManager {
    const { engine, archives } = this.#opened
    this.#conversations ??= new ConversationManager({
      ...this.#base,
      archives,
      team: this.#team,
      views: this.#views,
      branches: branches(this.#base),
      past: past({ engine, scope: this.#scope, requests: this.#requests, views: this.#views }),
    })
    return this.#conversations
  }

  get agents(): AgentManager {
    this.#agents ??= this.#agentManager(this.#scope)
    return this.#agents
  }

  get work(): WorkManager {
    const { phases } = this.#project.team
    this.#work ??= new WorkManager({
      engine: this.#opened.engine,
      scope: this.#scope,
      phases,
      sessions: this.sessions,
    })
    return this.#work
  }

  get dispatcher(): DispatchManager {
    const { engine, dispatching, dispatchers } = this.#opened
    this.#dispatcher ??= new DispatchManager({
      engine,
      scope: this.#scope,
      phases: this.#project.team.phases,
      work: this.work,
      sessions: this.sessions,
      agents: this.agents,
      settings: dispatching,
      running: dispatchers,
      ...(this.root !== undefined && { task: taskWorkerOnDemand(() => this[teamParts]) }),
    })
    return this.#dispatcher
  }

  readonly orchestrate: Colloquy['orchestrate'] = (conversationId, options) =>
    runOrchestrator(
      {
        ...this.#base,
        views: this.#views,
        team: this.#team,
        agents: this.agents,
        settings: this.#project.agents,
        requests: this.#project.requests,
        estimator: this.#opened.estimator,
        keeper: this.#opened.runs,
      },
      conversationId,
      options,
    )

  readonly onRecorded: Colloquy['onRecorded'] = listener => this.#opened.engine.onRecorded(listener)

  readonly subscribe: Colloquy['subscribe'] = options => updates(this.#opened.store, this.project, options ?? {})

  readonly verify: Colloquy['verify'] = async (options = {}) => this.#opened.store.verify(this.#upkeepOptions(options))

  readonly repair: Colloquy['repair'] = async (options = {}) => this.#opened.store.repair(this.#upkeepOptions(options))

  readonly stats: Colloquy['stats'] = () => this.#opened.store.totals(this.project)

  readonly totals: Colloquy['totals'] = async (page = {}) => {
    checkAsked('totals', page)
    return this.#opened.totals(this.project, page)
  }

  readonly audit: Colloquy['audit'] = async (query = {}) => {
    checkAsked('audit', query)
    return this.#opened.store.audit({ ...query, project: this.project })
  }

  readonly queues: Colloquy['queues'] = () => {
    const { store, live, runs } = this.#opened
    return { writes: store.queue(), models: modelQueues(), live: live.queue(), runs: runs.count() }
  }

  readonly maintain: Colloquy['maintain'] = () =>
    sweep(this.#opened.engine, this.#scope, { archive: this.#project.settings.archive, team: this.#team })

  readonly as: Colloquy['as'] = (changes, settings) => {
    const next = checkedScope({ ...this.#scope, ...changes })
    const overrides = next.project === this.project ? this.#overrides : undefined
    return new Scoped(this.#opened, next, settings ? this.#opened.parts.withOptions(settings) : overrides)
  }

  readonly projects: Colloquy['projects'] = () => this.#opened.store.projects()

  readonly close: Colloquy['close'] = () => this.#opened.close()

  #upkeepOptions(options: { onProgress?: Progress; allProjects?: boolean }) {
    checkAsked('upkeep', options)
    const { onProgress, allProjects = false } = options
    return { ...(!allProjects && { project: this.project }), ...(onProgress && { onProgress }) }
  }

  get #base() {
    return { engine: this.#opened.engine, scope: this.#scope, scribe: this.#project.scribe }
  }

  get #requests(): SessionRequests {
    const { engine, model, estimator } = this.#opened
    const settings = this.#project.requests
    this.#cachedRequests ??= sessionRequests({
      engine,
      scope: this.#scope,
      settings,
      model,
      estimator,
      computed: computedSections,
      workInputs,
    })
    return this.#cachedRequests
  }

  get #views(): AgentViews {
    const { engine, estimator } = this.#opened
    const { settings, desk } = this.#project
    this.#cachedViews ??= agentViews({
      engine,
      scope: this.#scope,
      settings,
      requests: this.#requests,
      references: references({ ...this.#base, estimator, desk }),
    })
    return this.#cachedViews
  }

  get #team(): Team {
    this.#cachedTeam ??= teamOf(this.#opened, this.#scope, this.#project)
    return this.#cachedTeam
  }

  /** @throws {IllegalState} when the project has no folder */
  get [teamParts](): TeamParts {
    const { project, root } = this
    if (root === undefined) {
      throw new IllegalState(`Project ${project} has no folder for a team to build in. Set projects.${project}.root.`, {
        project,
      })
    }
    const { engine, shifts } = this.#opened
    this.#cachedTeamParts ??= {
      engine,
      scope: this.#scope,
      sessions: this.sessions,
      agents: this.agents,
      agentsAs: actor => this.#agentManager({ ...this.#scope, actor }),
      work: this.work,
      settings: this.#project.building,
      root,
      shifts,
    }
    return this.#cachedTeamParts
  }

  #agentManager(scope: Scope): AgentManager {
    const { live, runs, models } = this.#opened
    const { agents, features, requests, mcp } = this.#project
    return new AgentManager({
      ...this.#base,
      scope,
      requests: this.#requests,
      views: this.#views,
      team: teamOf(this.#opened, scope, this.#project),
      settings: agents,
      isOn: features.agents,
      defaultModel: requests.model,
      root: this.root,
      live,
      keeper: runs,
      openedModels: models,
      mcp,
    })
  }
}

/** Loads `colloquy/building` with the first task that is ready. */
function taskWorkerOnDemand(parts: () => TeamParts): TaskWorker {
  let worker: TaskWorker | undefined
  async function load(): Promise<TaskWorker> {
    if (!worker) {
      const { taskWorker } = await import('../agents/building/task-worker.ts')
      worker = taskWorker(parts())
    }
    return worker
  }
  return {
    work: async (job, signal) => (await load()).work(job, signal),
    choose: async tasks => (tasks.length === 0 ? new Set() : (await load()).choose(tasks)),
  }
}

/** Checks a scope without a schema, because a server does so for every request. @throws {InvalidInput} naming the field */
export function checkedScope({ project, actor, channel, requestId }: Scope): Scope {
  checkId('project', project)
  checkId('actor', actor)
  checkId('channel', channel)
  if (requestId === undefined) return { project, actor, channel }
  checkId('requestId', requestId)
  return { project, actor, channel, requestId }
}

function checkId(field: string, value: string): void {
  const problem = idProblem(value)
  if (problem) throw new InvalidInput(field, problem)
}
