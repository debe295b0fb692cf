/**
 * Changing a feature's task graph: all of a change or nothing of it, decided on the graph as it is at the moment of
 * writing. What is wrong is said all at once, so that whoever planned can put all of it right.
 */
import { z } from 'zod'
import { PlanRefused } from '../../../errors.ts'
import { Id } from '../../events/id.ts'
import { Metadata } from '../../events/metadata.ts'
import { type PlannedTask, Priority } from '../../events/work/work.ts'
import type { WorkItem } from '../../events/work-item.ts'
import { cycleIn, unknownDependencies } from '../../views/work/task-graph.ts'
import type { FeatureWork } from '../../views/work/work.ts'
import type { Decision } from '../decision.ts'
import { withoutUndefined } from '../omit-undefined.ts'
import { type Beginning, begin } from './work.ts'

/** A graph is part of its feature's head; larger ones are several features. */
const mostTasks = 1_000

const fields = {
  description: z.string().max(100_000).optional(),
  priority: Priority.optional(),
  agent: Id.optional(),
  data: Metadata.optional(),
}
const title = z.string().trim().min(1).max(1_000)

export const NewTask = z.strictObject({
  taskId: Id,
  title,
  /** Tasks of the same feature that must be merged before it begins. */
  dependencies: z.array(Id).max(mostTasks).optional(),
  ...fields,
})
export type NewTask = z.input<typeof NewTask>

/** What is not given stays. */
export const TaskChange = z.strictObject({
  taskId: Id,
  title: title.optional(),
  dependencies: z.array(Id).max(mostTasks).optional(),
  ...fields,
})
export type TaskChange = z.input<typeof TaskChange>

export const PlanChanges = z.strictObject({
  add: z.array(NewTask).max(mostTasks).optional(),
  change: z.array(TaskChange).max(mostTasks).optional(),
  remove: z.array(Id).max(mostTasks).optional(),
  reason: z.string().max(10_000).optional(),
})
export type PlanChanges = z.input<typeof PlanChanges>

/** @throws {PlanRefused} when the graph would not hold together; a cycle is shown */
export function planTasks(featureId: string, changes: z.output<typeof PlanChanges>, beginning: Beginning): Decision {
  const item: WorkItem = { type: 'feature', featureId }
  return heads => {
    const created = begin(heads, item, beginning)
    const work = heads.conversation?.info.work
    const known = work?.type === 'feature' ? work : undefined
    const planned = changedGraph(known?.tasks ?? [], changes)
    if (!planned) return []
    const { reason } = changes
    return [
      ...created,
      // Whoever plans on a feature that nobody described makes it a work item by that.
      ...(known
        ? []
        : [{ type: 'feature.described', featureId, name: heads.conversation?.info.title ?? beginning.title } as const]),
      { type: 'tasks.planned', featureId, ...planned, ...(reason !== undefined && { reason }) },
    ]
  }
}

/** What a change comes to; undefined when it changes nothing. */
function changedGraph(
  tasks: FeatureWork['tasks'],
  { add = [], change = [], remove = [] }: z.output<typeof PlanChanges>,
): { added: PlannedTask[]; changed: PlannedTask[]; removed: string[] } | undefined {
  const known = new Map(tasks.map(task => [task.taskId, task]))
  const problems = [
    ...add.filter(task => known.has(task.taskId)).map(task => `Task ${task.taskId} is there already; change it.`),
    ...change.filter(task => !known.has(task.taskId)).map(task => `There is no task ${task.taskId} to change; add it.`),
    ...remove.filter(taskId => !known.has(taskId)).map(taskId => `There is no task ${taskId} to remove.`),
    ...twice([...add, ...change].map(task => task.taskId).concat(remove)).map(
      taskId => `Task ${taskId} stands in the change more than once.`,
    ),
  ]
  refuse(problems)
  const added = add.map(({ dependencies = [], ...task }) => ({
    ...withoutUndefined(task),
    dependencies: once(dependencies),
  }))
  const changed = change.flatMap(task => {
    // Its description stays where it stands unless there is a new one.
    const { describedAt: _, ...before } = known.get(task.taskId)!
    const after: PlannedTask = { ...before, ...withoutUndefined(task) }
    after.dependencies = once(after.dependencies)
    return JSON.stringify(after) === JSON.stringify(before) ? [] : [after]
  })
  if (added.length + changed.length + remove.length === 0) return undefined
  const gone = new Set(remove)
  const replaced = new Map(changed.map(task => [task.taskId, task]))
  const graph = [
    ...tasks.filter(task => !gone.has(task.taskId)).map(task => replaced.get(task.taskId) ?? task),
    ...added,
  ]
  refuse(
    unknownDependencies(graph).map(({ taskId, dependency }) =>
      gone.has(dependency)
        ? `Task ${taskId} depends on ${dependency}, which is removed; change ${taskId} too.`
        : `Task ${taskId} depends on ${dependency}, which is no task of this feature.`,
    ),
  )
  const cycle = cycleIn(graph)
  if (cycle) refuse([`It has a cycle, each task waiting for the next: ${cycle.join(' → ')}.`], cycle)
  if (graph.length > mostTasks) refuse([`It has ${graph.length} tasks; ${mostTasks} is the most for one feature.`])
  return { added, changed, removed: remove }
}

function refuse(problems: readonly string[], cycle?: readonly string[]): void {
  if (problems.length > 0) throw new PlanRefused({ problems, ...(cycle && { cycle }) })
}

function twice(ids: readonly string[]): string[] {
  const seen = new Set<string>()
  const found = new Set<string>()
  for (const id of ids) (seen.has(id) ? found : seen).add(id)
  return [...found]
}

function once(ids: readonly string[]): string[] {
  return [...new Set(ids)]
}
