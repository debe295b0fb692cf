/** The planning part of a tool desk: the task graph of the feature that a session's conversation is about. */

import type { TaskGraph } from '../../conversation/work/item-views.ts'
import { Tasks } from '../../conversation/work/tasks.ts'
import { workAccess } from '../../conversation/work/work-access.ts'
import { NotFound } from '../../errors.ts'
import type { PhaseSet } from '../../log/commands/phase-set.ts'
import type { PlanChanges } from '../../log/commands/work/plan.ts'
import type { Engine, Scope, WriteOptions } from '../../log/engine.ts'
import type { WorkItem } from '../../log/events/work-item.ts'
import type { DeskGraph, DeskPlan, ToolDesk } from '../tools/desk.ts'
import { ToolRefused } from '../tools/tool.ts'

export function planDesk({
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
}): Pick<ToolDesk, 'planTasks' | 'graph'> {
  const access = workAccess({ engine, scope, phases })
  const tasks = new Tasks(access)

  /** A conversation about a feature or one of its tasks plans that feature only. */
  function meant(feature: string | undefined): string {
    const own = 'featureId' in workItem ? workItem.featureId : undefined
    if (own !== undefined && feature !== undefined && feature !== own) {
      throw new ToolRefused(`This conversation is about feature ${own}; plan that one.`)
    }
    const featureId = own ?? feature
    if (featureId === undefined) throw new ToolRefused('This conversation is not about a feature: name one.')
    return featureId
  }

  async function known(featureId: string): Promise<TaskGraph | undefined> {
    try {
      return await tasks.graph(featureId)
    } catch (error) {
      if (error instanceof NotFound) return undefined
      throw error
    }
  }

  return {
    async planTasks({ feature, tasks: wanted, ...rest }) {
      const featureId = meant(feature)
      const ids = new Set((await known(featureId))?.tasks.map(task => task.taskId))
      const changes: PlanChanges = {
        ...rest,
        add: wanted.filter(task => !ids.has(task.taskId)).map(titled),
        change: wanted.filter(task => ids.has(task.taskId)),
      }
      return shown(await tasks.plan(featureId, changes, write))
    },
    async graph(feature) {
      const featureId = meant(feature)
      const graph = await known(featureId)
      return graph ? shown(graph) : { featureId, name: featureId, summary: 'No tasks are planned.', tasks: [] }
    },
  }
}

function titled({ title, ...task }: DeskPlan['tasks'][number]) {
  if (title === undefined) throw new ToolRefused(`Task ${task.taskId} is new and needs a title.`)
  return { ...task, title }
}

function shown({ featureId, name, summary, tasks }: TaskGraph): DeskGraph {
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
