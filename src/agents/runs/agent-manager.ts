/** Agents that answer: a run of an agent on its session, what it says while it runs, and what it asks people. Thin. */

import type { Question } from '../../conversation/turns/questions.ts'
import type { Team } from '../../conversation/turns/team-parts.ts'
import type { Engine, Scope, WriteOptions } from '../../log/engine.ts'
import type { Model } from '../../models/model.ts'
import { type AgentModels, agentModels } from './agent-models.ts'
import { type AgentRunParts, agentRuns } from './agent-runs.ts'
import type { LiveChannel, LiveFilter, LiveUpdate } from './live.ts'
import type { RunResult } from './run.ts'
import type { RunKeeper } from './run-keeper.ts'
import type { RunOptions, RunTarget, StartedRun } from './run-options.ts'
import { type RunningRun, runningRuns } from './running-runs.ts'

export class AgentManager {
  readonly #engine: Engine
  readonly #scope: Scope
  readonly #team: Team
  readonly #live: LiveChannel
  readonly #keeper: RunKeeper
  readonly #models: AgentModels
  readonly #run: ReturnType<typeof agentRuns>

  constructor(
    parts: Omit<AgentRunParts, 'models'> & {
      /** The model whose limits requests keep to. */
      defaultModel: string | undefined
      /** Models that were opened by name; each once. */
      opened: Map<string, Promise<Model>>
    },
  ) {
    this.#engine = parts.engine
    this.#scope = parts.scope
    this.#team = parts.team
    this.#live = parts.live
    this.#keeper = parts.keeper
    this.#models = agentModels(parts)
    this.#run = agentRuns({ ...parts, models: this.#models })
  }

  /**
   * Runs an agent until it has answered: a new message, a stored one, or what waits. The message is stored first; while
   * another run has the session it waits, and that run may answer it. What a model or a tool does wrong is in the
   * result and in the log, never thrown.
   *
   * @throws {FeatureOff} when agents are switched off in the project
   * @throws {ModelMissing} when no model is named
   * @throws {AlreadyAnswered} when the trigger was answered by another run
   * @throws {LeaseHeld} when the trigger is to be answered and another run has the session
   */
  run(target: RunTarget, options: RunOptions = {}): Promise<RunResult> {
    return this.#run(target, options, 0)
  }

  /**
   * Starts a run and answers as soon as it is under way, or known to wait for another one: what was said is stored by
   * then. Throws what `run` throws before that.
   */
  start(target: RunTarget, options: RunOptions = {}): Promise<StartedRun> {
    return new Promise((resolve, reject) => {
      const ended = this.#run(target, options, 0, run => resolve({ ...run, ended }))
      ended.catch(reject)
    })
  }

  /** Runs that are under way in the project, or on one conversation, in whatever process; oldest first. */
  running(conversationId?: string): Promise<RunningRun[]> {
    return runningRuns(this.#engine, this.#scope, { conversationId, isHere: id => this.#keeper.find(id) !== undefined })
  }

  /** Stops the run of a session in this process. What it has said is kept. False if there is none. */
  async cancel(sessionId: string): Promise<boolean> {
    const running = this.#keeper.find(sessionId)
    running?.stop('cancelled')
    await running?.over
    return running !== undefined
  }

  /** Names of the models that the project's settings have chosen. */
  configuredModels(): string[] {
    return this.#models.configured()
  }

  /** What runs of this process say while they say it. Live only: the log has what counts. */
  live(filter: Omit<LiveFilter, 'project'> = {}): AsyncIterableIterator<LiveUpdate> {
    return this.#live.listen({ ...filter, project: this.#scope.project })
  }

  /** What agents of the project, or of one conversation, wait to be told. */
  questions(conversationId?: string): Promise<Question[]> {
    return this.#team.questions.open(conversationId)
  }

  /** Open, or among the newest of the conversation that were answered. @throws {NotFound} when it is neither */
  question(conversationId: string, questionId: string): Promise<Question> {
    return this.#team.questions.find(conversationId, questionId)
  }

  /**
   * Answers a question, or a request for leave with yes or no. Whoever runs the agent goes on with it, now or later.
   *
   * @throws {IllegalState} when it is not open
   */
  answer(
    questionId: string,
    answer: string,
    { conversationId, ...write }: WriteOptions & { conversationId?: string | undefined } = {},
  ): Promise<Question> {
    return this.#team.questions.answer(questionId, answer, { conversationId, write })
  }

  /**
   * The model that agents of a type run on, opened once.
   *
   * @throws {ModelMissing} when none is named
   * @throws {FeatureOff} when the project has agents switched off
   */
  model(agentType: string, asked?: Model | string): Promise<Model> {
    return this.#models.choose({ agentType }, asked === undefined ? {} : { model: asked })
  }
}
