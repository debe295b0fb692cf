/** The work item of a session as its requests show it, read from the work items themselves. */

import type { Engine, Scope } from '../../log/engine.ts'
import type { TaskSummary } from '../../log/events/context.ts'
import type { WorkItem } from '../../log/events/work-item.ts'
import type { BeadWork, FeatureWork } from '../../log/views/work/work.ts'
import type { ContextInputs } from '../../request/context/gather.ts'
import type { TaskGraph, TaskNode } from './item-views.ts'
import { graphOf } from './tasks.ts'
import { type WorkAccess, type WorkHead, workAccess } from './work-access.ts'
import { descriptionOf, textsOf } from './work-texts.ts'

type WorkInputs = Pick<ContextInputs, 'feature' | 'task' | 'dagSummary'>

/** A request lists no more tasks of its feature; those that are not merged come before those that are. */
const mostListed = 100

/** Undefined where it was not added as a work item. */
export async function workInputs(engine: Engine, scope: Scope, item: WorkItem): Promise<WorkInputs | undefined> {
  if (item.type === 'thread') return undefined
  const access = workAccess({ engine, scope, phases: undefined })
  if (item.type === 'bead') return beadInputs(access, item)
  const head = await access.find({ type: 'feature', featureId: item.featureId })
  if (head?.info.work?.type !== 'feature') return undefined
  return featureInputs(access, item, head as WorkHead<FeatureWork>)
}

async function featureInputs(
  access: WorkAccess,
  item: Extract<WorkItem, { type: 'feature' | 'task' }>,
  head: WorkHead<FeatureWork>,
): Promise<WorkInputs> {
  const { featureId } = item
  const [moved, texts] = await Promise.all([access.movedTasks(featureId), textsOf(access, head)])
  const graph = graphOf(featureId, head, moved)
  const { name, summary: dagSummary } = graph
  const tasks = listed(graph)
  const feature = { id: featureId, name, ...texts, ...(tasks.length > 0 && { tasks }) }
  const task = item.type === 'task' ? graph.tasks.find(one => one.taskId === item.taskId) : undefined
  // A session on a task that the graph does not have, or no more, still knows its feature.
  if (!task) return { feature, dagSummary }
  const description = await descriptionOf(access, head, task.taskId)
  const byId = new Map(graph.tasks.map(one => [one.taskId, one]))
  const named = (ids: readonly string[]) => ids.flatMap(id => summaryOf(byId.get(id)) ?? [])
  return {
    feature,
    task: {
      id: task.taskId,
      title: task.title,
      ...(description && { description }),
      state: task.state,
      ...(task.dependencies.length > 0 && { dependencies: named(task.dependencies) }),
      ...(task.dependents.length > 0 && { dependents: named(task.dependents) }),
    },
    dagSummary,
  }
}

async function beadInputs(
  access: WorkAccess,
  item: Extract<WorkItem, { type: 'bead' }>,
): Promise<WorkInputs | undefined> {
  const head = await access.find(item)
  if (head?.info.work?.type !== 'bead') return undefined
  const { title, state, dependencies, descriptionAt } = head.info.work satisfies BeadWork
  const [described, found] = await Promise.all([
    access.factAt(head, descriptionAt, 'work.described'),
    Promise.all(dependencies.map(beadId => access.find({ type: 'bead', beadId }))),
  ])
  const waits = found.flatMap(one =>
    one?.info.work?.type === 'bead' && one.info.workItem.type === 'bead'
      ? [{ id: one.info.workItem.beadId, title: one.info.work.title, state: one.info.work.state }]
      : [],
  )
  return {
    task: {
      id: item.beadId,
      title,
      ...(described?.description && { description: described.description }),
      state,
      ...(waits.length > 0 && { dependencies: waits }),
    },
  }
}

function listed({ tasks }: TaskGraph): TaskSummary[] {
  const open = tasks.length > mostListed ? tasks.filter(task => task.state !== 'merged') : tasks
  return open.slice(0, mostListed).flatMap(task => summaryOf(task) ?? [])
}

function summaryOf(task: TaskNode | undefined): TaskSummary | undefined {
  return task && { id: task.taskId, title: task.title, state: task.state }
}
