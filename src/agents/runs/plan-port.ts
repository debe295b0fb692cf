/** The planning part of a tool port: the task graph of the feature that a session's conversation is about. */

import type { TaskGraph } from '../../conversation/work/item-views.ts'
import { Tasks } from '../../conversation/work/tasks.ts'
import { workAccess } from '../../conversation/work/work-access.ts'
import { NotFound } from '../../errors.ts'
import type { PhaseSet } from '../../log/commands/phase-set.ts'
import type { PlanChanges } from '../../log/commands/work/plan.ts'
import type { Engine, Scope, WriteOptions } from '../../log/engine.ts'
import type { WorkItem } from '../../log/events/work-item.ts'
import { ToolRefused } from '../tools/tool.ts'
import type { PlannedGraph, TaskPlan, ToolPort } from '../tools/tool-port.ts'

export function planPort({
  engine,
  scope,
  phases,
  workItem,
  write,
}: {
  engine: Engine
  scope: Scope
  phases: PhaseSet | undefined
  workItem: WorkItem
  write: WriteOptions
}): Pick<ToolPort, 'planTasks' | 'graph'> {
  const access = workAccess({ engine, scope, phases })
  const tasks = new Tasks(access)

  /** A conversation about a feature or one of its tasks plans that feature only. */
  function featureIdOf(feature: string | undefined): string {
    const ownFeature = 'featureId' in workItem ? workItem.featureId : undefined
    if (ownFeature !== undefined && feature !== undefined && feature !== ownFeature) {
      throw new ToolRefused(`This conversation is about feature ${ownFeature}; plan that one.`)
    }
    const featureId = ownFeature ?? feature
    if (featureId === undefined) throw new ToolRefused('This conversation is not about a feature: name one.')
    return featureId
  }

  async function graphOf(featureId: string): Promise<TaskGraph | undefined> {
    try {
      return await tasks.graph(featureId)
    } catch (error) {
      if (error instanceof NotFound) return undefined
      throw error
    }
  }

  return {
    async planTasks({ feature, tasks: plannedTasks, ...rest }) {
      const featureId = featureIdOf(feature)
      const ids = new Set((await graphOf(featureId))?.tasks.map(task => task.taskId))
      const changes: PlanChanges = {
        ...rest,
        add: plannedTasks.filter(task => !ids.has(task.taskId)).map(newTask),
        change: plannedTasks.filter(task => ids.has(task.taskId)),
      }
      return summaryOf(await tasks.plan(featureId, changes, write))
    },
    async graph(feature) {
      const featureId = featureIdOf(feature)
      const graph = await graphOf(featureId)
      return graph ? summaryOf(graph) : { featureId, name: featureId, summary: 'No tasks are planned.', tasks: [] }
    },
  }
}

function newTask({ title, ...task }: TaskPlan['tasks'][number]) {
  if (title === undefined) throw new ToolRefused(`Task ${task.taskId} is new and needs a title.`)
  return { ...task, title }
}

function summaryOf({ featureId, name, summary, tasks }: TaskGraph): PlannedGraph {
  return {
    featureId,
    name,
    summary,
    tasks: tasks.map(({ taskId, title, state, dependencies, isReady, move }) => ({
      taskId,
      title,
      state,
      dependencies,
      isReady,
      ...(move?.reason !== undefined && { reason: move.reason }),
    })),
  }
}
