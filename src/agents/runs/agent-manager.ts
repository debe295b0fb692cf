/** Runs agents on their sessions, streams their output, and handles their questions. */

import type { Question } from '../../conversation/turns/turn-views.ts'
import type { WriteOptions } from '../../log/engine.ts'
import type { Model } from '../../models/model.ts'
import { agentModels } from './agent-models.ts'
import { runAgent } from './agent-run.ts'
import type { LiveFilter, LiveUpdate } from './live-channel.ts'
import type { RunResult } from './run.ts'
import type { RunOptions, RunTarget, StartedRun } from './run-options.ts'
import type { RunServices } from './run-services.ts'
import { type RunningRun, runningRuns } from './running-runs.ts'

export class AgentManager {
  readonly #services: RunServices

  constructor(
    services: Omit<RunServices, 'models'> & {
      /** The model whose limits requests respect. */
      defaultModel: string | undefined
      /** Models opened by name, each once. */
      openedModels: Map<string, Promise<Model>>
    },
  ) {
    this.#services = { ...services, models: agentModels(services) }
  }

  /**
   * Runs an agent until it has answered a new message, a stored one, or the newest unanswered one. The message is stored
   * first. While another run has the session it waits, and that run may answer it. Failures of models and tools are in
   * the result and in the log, never thrown.
   *
   * @throws {FeatureOff} when agents are switched off in the project
   * @throws {ModelMissing} when no model is named
   * @throws {AlreadyAnswered} when the trigger was answered by another run
   * @throws {LeaseHeld} when the trigger is to be answered and another run has the session
   */
  run(target: RunTarget, options: RunOptions = {}): Promise<RunResult> {
    return runAgent(this.#services, target, options)
  }

  /**
   * Starts a run and resolves once it runs or waits for another run. The message is stored by then. Until then it throws
   * the errors of `run`.
   */
  start(target: RunTarget, options: RunOptions = {}): Promise<StartedRun> {
    return new Promise((resolve, reject) => {
      const ended = runAgent(this.#services, target, options, { onState: run => resolve({ ...run, ended }) })
      ended.catch(reject)
    })
  }

  /** Runs in progress in the project or on one conversation, in any process; oldest first. */
  running(conversationId?: string): Promise<RunningRun[]> {
    const { engine, scope, keeper } = this.#services
    return runningRuns(engine, scope, { conversationId, isHere: sessionId => keeper.has(sessionId) })
  }

  /** Stops a session's run in this process. Its text so far is kept. Returns false if there is none. */
  cancel(sessionId: string): Promise<boolean> {
    return this.#services.keeper.stop(sessionId, 'cancelled')
  }

  /** Names of the models in the project's settings. */
  configuredModels(): string[] {
    return this.#services.models.configured()
  }

  /** Streams the output of runs of this process. It is not stored: the log has completed answers. */
  live(filter: Omit<LiveFilter, 'project'> = {}): AsyncIterableIterator<LiveUpdate> {
    return this.#services.live.listen({ ...filter, project: this.#services.scope.project })
  }

  /** Open questions of agents, in the project or in one conversation. */
  questions(conversationId?: string): Promise<Question[]> {
    return this.#services.team.questions.open(conversationId)
  }

  /** A question that is open or among the conversation's newest answered ones. @throws {NotFound} otherwise */
  question(conversationId: string, questionId: string): Promise<Question> {
    return this.#services.team.questions.find(conversationId, questionId)
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
    return this.#services.team.questions.answer(questionId, answer, { conversationId, write })
  }

  /**
   * Returns the model that agents of a type run on, opened once.
   *
   * @throws {ModelMissing} when none is named
   * @throws {FeatureOff} when the project has agents switched off
   */
  model(agentType: string, override?: Model | string): Promise<Model> {
    return this.#services.models.choose({ agentType }, override === undefined ? {} : { model: override })
  }
}
