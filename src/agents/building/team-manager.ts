/**
 * `TeamManager`: teams that build features. The PM plans, dev builds in a Ralph loop, QA reviews, and the work is merged.
 * The state is in the log and in git, so that any process can resume a stopped or killed team.
 */

import type { Question } from '../../conversation/turns/turn-views.ts'
import type { Feature } from '../../conversation/work/item-views.ts'
import { IllegalState } from '../../errors.ts'
import type { FeatureState, TaskState } from '../../log/events/work/work.ts'
import type { LandingState, RalphState, ReviewState } from '../../log/views/work/ralph.ts'
import type { TeamParts } from '../team-access.ts'
import { teamLease } from './feature-shift.ts'
import type { TeamOptions } from './team-options.ts'
import { runFeature, runLoop, type TeamResult } from './team-run.ts'

export interface TaskStatus {
  taskId: string
  title: string
  state: TaskState
  /** Reason of the state. */
  reason?: string
  ralph?: RalphState
  review?: ReviewState
  landing?: LandingState
}

export interface TeamStatus {
  featureId: string
  name: string
  state: FeatureState
  /** Process that works on it now, and the end of its lease. */
  running?: { holder: string; until: string }
  /** Outcome of the last run of a team on it. */
  ended?: { outcome: string; reason?: string; at: string }
  worktree?: { path: string; branch: string }
  tasks: TaskStatus[]
  /** Open questions of its agents. */
  questions: Question[]
}

export class TeamManager {
  readonly #parts: TeamParts

  constructor(parts: TeamParts) {
    this.#parts = parts
  }

  /**
   * Runs a team on a feature from its current state, until all tasks are merged or a person must act. Failures of agents
   * are in the result and the log, never thrown.
   *
   * @throws {RepositoryMissing} when the project is not in a git repository with a commit
   * @throws {LeaseHeld} when another process works on the feature
   */
  run(featureId: string, options: TeamOptions = {}): Promise<TeamResult> {
    return runFeature(this.#parts, featureId, options)
  }

  /**
   * Runs only the Ralph loop of one task.
   *
   * @throws {IllegalState} when dev has completed the task
   */
  ralph(task: { featureId: string; taskId: string }, options: TeamOptions = {}): Promise<RalphState> {
    return runLoop(this.#parts, task, options)
  }

  /** Stops the team on a feature, in any process. `run` resumes it. */
  async stop(featureId: string, reason?: string): Promise<Feature> {
    const { work } = this.#parts
    const { state } = await work.getFeature(featureId)
    if (state !== 'in_progress') {
      throw new IllegalState(`Feature ${featureId} is in state ${state}; no team works on it. Nothing was written.`, {
        featureId,
      })
    }
    return work.moveFeature(featureId, 'stopped', reason === undefined ? {} : { reason })
  }

  /** Returns the state of a feature: tasks with their loops, reviews and landings, and open questions. */
  async status(featureId: string): Promise<TeamStatus> {
    const { work, engine, scope, agents } = this.#parts
    const { project } = scope
    const [feature, tasks, lease] = await Promise.all([
      work.getFeature(featureId),
      work.listTasks(featureId),
      engine.store.holderOf({ project, name: teamLease(featureId) }),
    ])
    const { name, state, attempts, worktree } = feature
    const questions: Question[] = []
    const statuses: TaskStatus[] = []
    for (const { taskId, title, state, conversationId, move } of tasks) {
      const head = conversationId === undefined ? undefined : await engine.store.conversation(project, conversationId)
      const { ralph, review, landing } = head?.info ?? {}
      statuses.push({
        ...{ taskId, title, state },
        ...(move?.reason !== undefined && { reason: move.reason }),
        ...(ralph && { ralph }),
        ...(review && { review }),
        ...(landing && { landing }),
      })
      if (head?.info.questions?.open.length) questions.push(...(await agents.questions(head.info.id)))
    }
    questions.push(...(await agents.questions(feature.conversationId)))
    return {
      ...{ featureId, name, state },
      ...(lease && { running: { holder: lease.holder, until: lease.expiresAt } }),
      ...(attempts && {
        ended: {
          outcome: String(attempts.last.data?.outcome ?? attempts.last.outcome),
          ...(attempts.last.reason !== undefined && { reason: attempts.last.reason }),
          at: attempts.last.at,
        },
      }),
      ...(worktree && { worktree: { path: worktree.path, branch: worktree.branch } }),
      tasks: statuses,
      questions,
    }
  }
}
