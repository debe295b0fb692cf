/** Runs agents on their sessions, streams what they say, and handles their questions. Thin. */

import type { Team } from '../../conversation/turns/team-parts.ts'
import type { Question } from '../../conversation/turns/turn-views.ts'
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
      /** The model whose limits requests respect. */
      defaultModel: string | undefined
      /** Models opened by name, each once. */
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
   * Starts a run and resolves once it is running, or known to wait for another one. The message is stored by then.
   * Until then it throws what `run` throws.
   */
  start(target: RunTarget, options: RunOptions = {}): Promise<StartedRun> {
    return new Promise((resolve, reject) => {
      const ended = this.#run(target, options, 0, run => resolve({ ...run, ended }))
      ended.catch(reject)
    })
  }

  /** Runs in progress in the project or on one conversation, in any process; oldest first. */
  running(conversationId?: string): Promise<RunningRun[]> {
    return runningRuns(this.#engine, this.#scope, { conversationId, isHere: id => this.#keeper.find(id) !== undefined })
  }

  /** Stops a session's run in this process. What it has said is kept. Returns false if there is none. */
  async cancel(sessionId: string): Promise<boolean> {
    const running = this.#keeper.find(sessionId)
    running?.stop('cancelled')
    await running?.over
    return running !== undefined
  }

  /** Names of the models in the project's settings. */
  configuredModels(): string[] {
    return this.#models.configured()
  }

  /**
   * Streams what runs of this process say while they say it. Nothing of it is stored; the log has completed answers.
   */
  live(filter: Omit<LiveFilter, 'project'> = {}): AsyncIterableIterator<LiveUpdate> {
    return this.#live.listen({ ...filter, project: this.#scope.project })
  }

  /** Open questions of agents, in the project or in one conversation. */
  questions(conversationId?: string): Promise<Question[]> {
    return this.#team.questions.open(conversationId)
  }

  /** A question that is open or among the conversation's newest answered ones. @throws {NotFound} otherwise */
  question(conversationId: string, questionId: string): Promise<Question> {
    return this.#team.questions.find(conversationId, questionId)
  }

  /**
   * Answers a question, or a permission request with yes or no. The agent's run continues with it, now or later.
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
   * Returns the model that agents of a type run on, opened once.
   *
   * @throws {ModelMissing} when none is named
   * @throws {FeatureOff} when the project has agents switched off
   */
  model(agentType: string, asked?: Model | string): Promise<Model> {
    return this.#models.choose({ agentType }, asked === undefined ? {} : { model: asked })
  }
}
