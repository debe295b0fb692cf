/**
 * Teams that build features: planned by the PM, built by dev in a Ralph loop, reviewed by QA, merged. Who runs one holds
 * the feature's lease; all it knows is in the log and in git, so anybody can go on where it was stopped or killed. Thin.
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
  /** Why it is in its state. */
  reason?: string
  ralph?: RalphState
  review?: ReviewState
  landing?: LandingState
}

export interface TeamStatus {
  featureId: string
  name: string
  state: FeatureState
  /** Who works on it now, and until when its lease holds unless it is renewed. */
  running?: { holder: string; until: string }
  /** How the last run of a team on it ended. */
  ended?: { outcome: string; reason?: string; at: string }
  worktree?: { path: string; branch: string }
  tasks: TaskStatus[]
  /** What its agents wait to be told. */
  questions: Question[]
}

export class TeamManager {
  readonly #parts: TeamParts

  constructor(parts: TeamParts) {
    this.#parts = parts
  }

  /**
   * Runs a team on a feature, from wherever it stands, until all of it is merged or somebody must help. What agents do
   * wrong is in the result and in the log, never thrown.
   *
   * @throws {RepositoryMissing} when the project is not in a git repository with a commit
   * @throws {LeaseHeld} when somebody else works on it
   */
  run(featureId: string, options: TeamOptions = {}): Promise<TeamResult> {
    return runFeature(this.#parts, featureId, options)
  }

  /**
   * Runs the Ralph loop of one task and nothing else.
   *
   * @throws {IllegalState} when dev is done with the task
   */
  ralph(task: { featureId: string; taskId: string }, options: TeamOptions = {}): Promise<RalphState> {
    return runLoop(this.#parts, task, options)
  }

  /** Stops the team on a feature, in whatever process it runs. `run` goes on with it. */
  async stop(featureId: string, reason?: string): Promise<Feature> {
    const { work } = this.#parts
    const { state } = await work.getFeature(featureId)
    if (state !== 'in_progress') {
      throw new IllegalState(`Feature ${featureId} is in state ${state}: no team is at work on it.`, { featureId })
    }
    return work.moveFeature(featureId, 'stopped', reason === undefined ? {} : { reason })
  }

  /** Where the team on a feature stands: its tasks with their loops, reviews and landings, and what it waits for. */
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
    const told: TaskStatus[] = []
    for (const { taskId, title, state, conversationId, move } of tasks) {
      const head = conversationId === undefined ? undefined : await engine.store.conversation(project, conversationId)
      const { ralph, review, landing } = head?.info ?? {}
      told.push({
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
      tasks: told,
      questions,
    }
  }
}
