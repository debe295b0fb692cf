/**
 * The tasks of features: their graph, and each of them.
 *
 * The graph stands in the feature's conversation, a task's state in its own. A task that never moved has no conversation
 * of its own yet and is in planning.
 */

import { DependenciesOpen, NotFound, PlanRefused } from '../../errors.ts'
import { parseInput } from '../../log/commands/input.ts'
import { PlanChanges, planTasks } from '../../log/commands/work/plan.ts'
import { Move, moveWork, workItemName } from '../../log/commands/work/work.ts'
import type { WriteOptions } from '../../log/engine.ts'
import type { TaskState } from '../../log/events/work/work.ts'
import type { WorkItem } from '../../log/events/work-item.ts'
import { isHeld } from '../../log/views/work/state-transitions.ts'
import {
  dagSummary,
  dependentsOf,
  layersOf,
  openDependencies,
  readyTasks,
  statesOf,
} from '../../log/views/work/task-graph.ts'
import type { FeatureWork, GraphTask, TaskWork } from '../../log/views/work/work.ts'
import type { Task, TaskGraph, TaskNode } from './item-views.ts'
import { type WorkAccess, type WorkHead, withJsonData } from './work-access.ts'
import { descriptionOf } from './work-texts.ts'

export interface TaskMove extends Move {
  /** Lets it begin before those it depends on are merged. */
  ignoresDependencies?: boolean
}

export class Tasks {
  readonly #access: WorkAccess

  constructor(access: WorkAccess) {
    this.#access = access
  }

  async plan(featureId: string, input: PlanChanges, options: WriteOptions | undefined): Promise<TaskGraph> {
    const checked = parseInput(PlanChanges, input)
    const { add, change, ...rest } = checked
    const changes = {
      ...rest,
      ...(add && { add: add.map(withJsonData) }),
      ...(change && { change: await this.#reallyChanged(featureId, change.map(withJsonData)) }),
    }
    if (changes.remove?.length) await this.#refuseBegun(featureId, changes.remove)
    const decide = planTasks(featureId, changes, this.#access.newConversation(`Feature ${featureId}`))
    await this.#access.write({ type: 'feature', featureId }, decide, ['planTasks', featureId, input], options)
    return this.graph(featureId)
  }

  async graph(featureId: string): Promise<TaskGraph> {
    const [head, moved] = await Promise.all([this.#access.feature(featureId), this.#access.movedTasks(featureId)])
    return graphOf(featureId, head, moved)
  }

  async get(featureId: string, taskId: string): Promise<Task> {
    const head = await this.#access.feature(featureId)
    const planned = plannedIn(head, taskId)
    const { engine, scope } = this.#access
    const [moved, description, sessions] = await Promise.all([
      // Those it depends on say whether it may begin; of the others nothing is shown here.
      this.#movedAmong(featureId, [taskId, ...planned.dependencies]),
      descriptionOf(this.#access, head, taskId),
      engine.store.sessions({ project: scope.project, workItem: item(featureId, taskId), limit: 100 }),
    ])
    const node = graphOf(featureId, head, moved).tasks.find(task => task.taskId === taskId)!
    return {
      ...node,
      ...(description && { description }),
      sessions: sessions.items.map(({ id, agentName, agentType, taskState, status }) => ({
        id,
        agentName,
        agentType,
        ...(taskState !== undefined && { taskState }),
        status,
      })),
    }
  }

  async move(
    featureId: string,
    taskId: string,
    to: TaskState,
    input: TaskMove,
    options: WriteOptions | undefined,
  ): Promise<Task> {
    const { ignoresDependencies = false, ...rest } = input
    const move = withJsonData(parseInput(Move, rest))
    const planned = plannedIn(await this.#access.feature(featureId), taskId)
    if (to === 'in_dev' && !ignoresDependencies) await this.#refuseEarly(featureId, planned)
    const meant = item(featureId, taskId)
    const decide = moveWork(meant, to, move, this.#access.newConversation(planned.title))
    await this.#access.write(meant, decide, ['moveTask', featureId, taskId, to, input], options)
    return this.get(featureId, taskId)
  }

  /** The title of a planned task. */
  async titleOf(featureId: string, taskId: string): Promise<string> {
    return plannedIn(await this.#access.feature(featureId), taskId).title
  }

  /** A description that says what the old one says is none: the head knows only where the old one stands. */
  async #reallyChanged<T extends { taskId: string; description?: string | undefined }>(
    featureId: string,
    change: readonly T[],
  ): Promise<T[]> {
    const head = await this.#access.find({ type: 'feature', featureId })
    if (head?.info.work?.type !== 'feature') return [...change]
    return Promise.all(
      change.map(async task => {
        if (task.description === undefined) return task
        const known = await descriptionOf(this.#access, head as WorkHead<FeatureWork>, task.taskId)
        return known === task.description ? { ...task, description: undefined } : task
      }),
    )
  }

  /** A dependency that is merged stays so: nothing can come between looking and writing that would matter. */
  async #refuseEarly(featureId: string, planned: GraphTask): Promise<void> {
    const moved = await this.#movedAmong(featureId, [planned.taskId, ...planned.dependencies])
    const work = moved.get(planned.taskId)?.info.work
    const begins = !work || work.state === 'planning' || (isHeld(work.state) && work.heldIn === 'planning')
    if (!begins) return
    const states = new Map([...moved].map(([taskId, { info }]) => [taskId, info.work.state as string]))
    const open = openDependencies(planned, states).map(id => ({ id, state: states.get(id) ?? 'planning' }))
    if (open.length > 0) throw new DependenciesOpen({ item: workItemName(item(featureId, planned.taskId)), open })
  }

  async #movedAmong(featureId: string, taskIds: readonly string[]): Promise<Map<string, WorkHead<TaskWork>>> {
    const heads = await Promise.all(taskIds.map(taskId => this.#access.find(item(featureId, taskId))))
    return new Map(
      heads.flatMap((head, index) =>
        head?.info.work?.type === 'task' ? [[taskIds[index]!, head as WorkHead<TaskWork>]] : [],
      ),
    )
  }

  async #refuseBegun(featureId: string, remove: readonly string[]): Promise<void> {
    const moved = await this.#movedAmong(featureId, remove)
    const problems = remove.flatMap(taskId => {
      const state = moved.get(taskId)?.info.work.state ?? 'planning'
      return state === 'planning' || isHeld(state)
        ? []
        : [`Task ${taskId} is in state ${state} and stays; add another one that follows it.`]
    })
    if (problems.length > 0) throw new PlanRefused({ problems })
  }
}

export function graphOf(
  featureId: string,
  { info, version }: WorkHead<FeatureWork>,
  moved: ReadonlyMap<string, WorkHead<TaskWork>>,
): TaskGraph {
  const { tasks: planned, name, state, priority: usual } = info.work
  const dependents = dependentsOf(planned)
  const stated = planned.map(task => ({ ...task, state: moved.get(task.taskId)?.info.work.state ?? 'planning' }))
  const states = statesOf(stated)
  const ready = new Set(readyTasks(stated).map(task => task.taskId))
  const tasks = stated.map(({ describedAt: _, ...task }): TaskNode => {
    const found = moved.get(task.taskId)
    const { type: _type, ...work } = found?.info.work ?? { type: 'task' }
    return {
      featureId,
      ...task,
      ...work,
      state: task.state as TaskState,
      priority: task.priority ?? usual,
      dependents: dependents.get(task.taskId) ?? [],
      waitsFor: openDependencies(task, states),
      isReady: ready.has(task.taskId),
      ...(found && { conversationId: found.info.id, version: found.version }),
    }
  })
  return {
    featureId,
    name,
    state,
    tasks,
    layers: layersOf(planned).map(layer => layer.map(task => task.taskId)),
    ready: [...ready],
    summary: dagSummary(stated),
    version,
  }
}

function plannedIn({ info }: WorkHead<FeatureWork>, taskId: string): GraphTask {
  const found = info.work.tasks.find(task => task.taskId === taskId)
  if (!found) throw new NotFound('task', taskId)
  return found
}

function item(featureId: string, taskId: string): WorkItem {
  return { type: 'task', featureId, taskId }
}
