/** Work items: features with their task graphs, tasks, beads; where they stand and what can be done next. Thin. */

import { IllegalState } from '../../errors.ts'
import { parseInput } from '../../log/commands/input.ts'
import type { PhaseSet } from '../../log/commands/phase-set.ts'
import type { PlanChanges } from '../../log/commands/work/plan.ts'
import {
  Attempt,
  addWorktree,
  attemptWork,
  type BeadChanges,
  type FeatureChanges,
  type Move,
  type NewBead,
  type NewFeature,
  NewWorktree,
  Report,
  removeWorktree,
  reportWork,
} from '../../log/commands/work/work.ts'
import type { Listed } from '../../log/directory.ts'
import type { Engine, Scope, WriteOptions } from '../../log/engine.ts'
import type { BeadState, FeatureState, TaskState } from '../../log/events/work/work.ts'
import { WorkItem } from '../../log/events/work-item.ts'
import { firstState } from '../../log/views/work/state-transitions.ts'
import type { WorkState } from '../../log/views/work/work.ts'
import { checkAsked } from '../access/input-schemas.ts'
import type { Session } from '../access/session.ts'
import type { SessionManager } from '../sessions/session-manager.ts'
import { type BeadMove, Beads } from './beads.ts'
import { Features, type WorkPage } from './features.ts'
import type { Bead, BeadSummary, Feature, FeatureSummary, ReadyItem, Task, TaskGraph, TaskNode } from './item-views.ts'
import { type ReadyQuery, readyWork } from './ready-work.ts'
import { type TaskMove, Tasks } from './tasks.ts'
import { type WorkAccess, withJsonData, workAccess } from './work-access.ts'

/** The state of a work item by its own conversation. */
export interface WorkItemState {
  item: WorkItem
  /** Undefined of a task that never moved. */
  conversationId: string | undefined
  version: number
  work: WorkState | undefined
}

export class WorkManager {
  readonly #access: WorkAccess
  readonly #sessions: SessionManager
  readonly #features: Features
  readonly #tasks: Tasks
  readonly #beads: Beads

  constructor(parts: { engine: Engine; scope: Scope; phases: PhaseSet | undefined; sessions: SessionManager }) {
    this.#access = workAccess(parts)
    this.#sessions = parts.sessions
    this.#features = new Features(this.#access)
    this.#tasks = new Tasks(this.#access)
    this.#beads = new Beads(this.#access)
  }

  // Features

  /** @throws {IllegalState} when there is one of that id already */
  addFeature(feature: NewFeature, write?: WriteOptions): Promise<Feature> {
    return this.#features.add(feature, write)
  }

  /** @throws {NotFound} when it was not added */
  getFeature(featureId: string): Promise<Feature> {
    return this.#features.get(featureId)
  }

  /** By priority, the oldest first. */
  async listFeatures(query: { states?: readonly FeatureState[] } & WorkPage = {}): Promise<Listed<FeatureSummary>> {
    checkAsked('features', query)
    return this.#features.list(query)
  }

  /** Changes the given fields. */
  describeFeature(featureId: string, changes: FeatureChanges, write?: WriteOptions): Promise<Feature> {
    return this.#features.describe(featureId, changes, write)
  }

  /** @throws {MoveRefused} naming what is legal */
  moveFeature(featureId: string, to: FeatureState, move: Move = {}, write?: WriteOptions): Promise<Feature> {
    return this.#features.move(featureId, to, move, write)
  }

  // The task graph

  /**
   * Adds, changes and removes tasks of a feature, all of it or nothing. A feature that is no work item yet becomes one.
   *
   * @throws {PlanRefused} when the graph would have a cycle, which is shown, or an unknown dependency, or a task that is
   *   being worked on would be removed
   */
  planTasks(featureId: string, changes: PlanChanges, write?: WriteOptions): Promise<TaskGraph> {
    return this.#tasks.plan(featureId, changes, write)
  }

  /** The tasks with their states, in layers, which of them may begin, and all of it in words. */
  graph(featureId: string): Promise<TaskGraph> {
    return this.#tasks.graph(featureId)
  }

  /** A task with its dependencies and the sessions that worked on it. */
  getTask(featureId: string, taskId: string): Promise<Task> {
    return this.#tasks.get(featureId, taskId)
  }

  /** In the order they were planned. */
  async listTasks(featureId: string, query: { states?: readonly TaskState[] } = {}): Promise<TaskNode[]> {
    checkAsked('tasks', query)
    const { states } = query
    const { tasks } = await this.#tasks.graph(featureId)
    return states ? tasks.filter(task => states.includes(task.state)) : tasks
  }

  /**
   * Moves a task to another state. To the one it is in already records nothing.
   *
   * @throws {MoveRefused} naming what is legal
   * @throws {DependenciesOpen} when it would begin before those it depends on are merged
   */
  moveTask(featureId: string, taskId: string, to: TaskState, move: TaskMove = {}, write?: WriteOptions): Promise<Task> {
    return this.#tasks.move(featureId, taskId, to, move, write)
  }

  // Beads

  /**
   * @throws {IllegalState} when there is one of that id already
   * @throws {PlanRefused} when it depends on what is not there, or on itself
   */
  addBead(bead: NewBead, write?: WriteOptions): Promise<Bead> {
    return this.#beads.add(bead, write)
  }

  /** A bead with its dependencies. @throws {NotFound} when it was not added */
  getBead(beadId: string): Promise<Bead> {
    return this.#beads.get(beadId)
  }

  /** By priority, the oldest first. */
  async listBeads(query: { states?: readonly BeadState[] } & WorkPage = {}): Promise<Listed<BeadSummary>> {
    checkAsked('beads', query)
    return this.#beads.list(query)
  }

  /** Changes what is given; the other fields stay. */
  describeBead(beadId: string, changes: BeadChanges, write?: WriteOptions): Promise<Bead> {
    return this.#beads.describe(beadId, changes, write)
  }

  /**
   * @throws {MoveRefused} naming what is legal
   * @throws {DependenciesOpen} when it would begin before those it depends on are done
   */
  moveBead(beadId: string, to: BeadState, move: BeadMove = {}, write?: WriteOptions): Promise<Bead> {
    return this.#beads.move(beadId, to, move, write)
  }

  // Any work item

  /** Tasks and beads that can be worked on now, by priority, then by age. */
  ready(query: ReadyQuery = {}): Promise<ReadyItem[]> {
    return readyWork(this.#access, query)
  }

  /** The state by its own conversation. */
  async stateOf(item: WorkItem): Promise<WorkItemState> {
    const head = await this.#access.find(parseInput(WorkItem, item))
    return { item, conversationId: head?.info.id, version: head?.version ?? 0, work: head?.info.work }
  }

  /** Records what came of it. */
  report(item: WorkItem, report: Report, write?: WriteOptions): Promise<WorkItemState> {
    const checked = withJsonData(parseInput(Report, report))
    return this.#record(
      item,
      conversation => reportWork(item, checked, conversation),
      ['reportWork', item, report],
      write,
    )
  }

  /** Records an attempt and its outcome. */
  recordAttempt(item: WorkItem, attempt: Attempt, write?: WriteOptions): Promise<WorkItemState> {
    const checked = withJsonData(parseInput(Attempt, attempt))
    return this.#record(
      item,
      conversation => attemptWork(item, checked, conversation),
      ['attempt', item, attempt],
      write,
    )
  }

  /** Records that a git work tree is there for it. The same again records nothing. */
  recordWorktree(item: WorkItem, worktree: NewWorktree, write?: WriteOptions): Promise<WorkItemState> {
    const checked = withJsonData(parseInput(NewWorktree, worktree))
    return this.#record(
      item,
      conversation => addWorktree(item, checked, conversation),
      ['worktree', item, worktree],
      write,
    )
  }

  /** Records that the git work tree is gone. */
  forgetWorktree(item: WorkItem, reason?: string, write?: WriteOptions): Promise<WorkItemState> {
    return this.#record(item, () => removeWorktree(item, reason), ['noWorktree', item, reason], write)
  }

  /**
   * The session of an agent on a work item, made if there is none. Of a task each state has sessions of its own: it is
   * the one of the state the task is in now.
   */
  async sessionOf(item: WorkItem, agentType: string, agentName?: string): Promise<Session> {
    const agent = { agentType, ...(agentName !== undefined && { agentName }) }
    if (item.type !== 'task') return this.#sessions.getOrCreateSession({ ...item, ...agent })
    const { featureId, taskId } = item
    const title = await this.#tasks.titleOf(featureId, taskId)
    const { work } = await this.stateOf(item)
    const taskState = work?.state ?? firstState.task
    return this.#sessions.getOrCreateSession({ ...item, ...agent, taskState, title })
  }

  async #record(
    item: WorkItem,
    decide: (conversation: ReturnType<WorkAccess['newConversation']>) => Parameters<WorkAccess['write']>[1],
    asked: readonly unknown[],
    write: WriteOptions | undefined,
  ): Promise<WorkItemState> {
    parseInput(WorkItem, item)
    if (item.type === 'thread') throw new IllegalState('A thread is no work item: it has no state.', { item })
    const title = item.type === 'task' ? await this.#tasks.titleOf(item.featureId, item.taskId) : ''
    const { conversation } = await this.#access.write(item, decide(this.#access.newConversation(title)), asked, write)
    return {
      item,
      conversationId: conversation?.info.id,
      version: conversation?.version ?? 0,
      work: conversation?.info.work,
    }
  }
}
