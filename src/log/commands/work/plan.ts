/**
 * Changes of a feature's task graph, applied whole or not at all. A refusal lists all problems at once, so that one
 * correction is enough.
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
import { ensureConversation, type NewWorkConversation } from './work.ts'

/** Bounded, because the graph is part of its feature's head. */
const maxTasks = 1_000

const fields = {
  description: z.string().max(100_000).optional(),
  priority: Priority.optional(),
  agent: Id.optional(),
  data: Metadata.optional(),
}
const title = z.string().trim().min(1).max(1_000)

const NewTask = z.strictObject({
  taskId: Id,
  title,
  /** Tasks of the same feature that must be merged before this one starts. */
  dependencies: z.array(Id).max(maxTasks).optional(),
  ...fields,
})

/** Omitted fields keep their values. */
const TaskChange = z.strictObject({
  taskId: Id,
  title: title.optional(),
  dependencies: z.array(Id).max(maxTasks).optional(),
  ...fields,
})

export const PlanChanges = z.strictObject({
  add: z.array(NewTask).max(maxTasks).optional(),
  change: z.array(TaskChange).max(maxTasks).optional(),
  remove: z.array(Id).max(maxTasks).optional(),
  reason: z.string().max(10_000).optional(),
})
export type PlanChanges = z.input<typeof PlanChanges>

/** @throws {PlanRefused} when the resulting graph has unknown dependencies, a cycle or too many tasks */
export function planTasks(
  featureId: string,
  changes: z.output<typeof PlanChanges>,
  conversation: NewWorkConversation,
): Decision {
  const item: WorkItem = { type: 'feature', featureId }
  return heads => {
    const created = ensureConversation(heads, item, conversation)
    const work = heads.conversation?.info.work
    const feature = work?.type === 'feature' ? work : undefined
    const planned = changedGraph(feature?.tasks ?? [], changes)
    if (!planned) return []
    const { reason } = changes
    return [
      ...created,
      // A plan makes a feature without description a work item.
      ...(feature
        ? []
        : [
            {
              type: 'feature.described',
              featureId,
              name: heads.conversation?.info.title ?? conversation.title,
            } as const,
          ]),
      { type: 'tasks.planned', featureId, ...planned, ...(reason !== undefined && { reason }) },
    ]
  }
}

/** Returns undefined when nothing changes. */
function changedGraph(
  tasks: FeatureWork['tasks'],
  { add = [], change = [], remove = [] }: z.output<typeof PlanChanges>,
): { added: PlannedTask[]; changed: PlannedTask[]; removed: string[] } | undefined {
  const existing = new Map(tasks.map(task => [task.taskId, task]))
  const problems = [
    ...add.filter(task => existing.has(task.taskId)).map(task => `Task ${task.taskId} exists already; change it.`),
    ...change
      .filter(task => !existing.has(task.taskId))
      .map(task => `There is no task ${task.taskId} to change; add it.`),
    ...remove.filter(taskId => !existing.has(taskId)).map(taskId => `There is no task ${taskId} to remove.`),
    ...duplicates([...add, ...change].map(task => task.taskId).concat(remove)).map(
      taskId => `Task ${taskId} is in the change more than once.`,
    ),
  ]
  refuse(problems)
  const added = add.map(({ dependencies = [], ...task }) => ({
    ...withoutUndefined(task),
    dependencies: unique(dependencies),
  }))
  const changed = change.flatMap(task => {
    const { describedAt: _, ...before } = existing.get(task.taskId)!
    const after: PlannedTask = { ...before, ...withoutUndefined(task) }
    after.dependencies = unique(after.dependencies)
    return JSON.stringify(after) === JSON.stringify(before) ? [] : [after]
  })
  if (added.length + changed.length + remove.length === 0) return undefined
  const removed = new Set(remove)
  const replaced = new Map(changed.map(task => [task.taskId, task]))
  const graph = [
    ...tasks.filter(task => !removed.has(task.taskId)).map(task => replaced.get(task.taskId) ?? task),
    ...added,
  ]
  refuse(
    unknownDependencies(graph).map(({ taskId, dependency }) =>
      removed.has(dependency)
        ? `Task ${taskId} depends on ${dependency}, which is removed; change ${taskId} too.`
        : `Task ${taskId} depends on ${dependency}, which is not a task of this feature.`,
    ),
  )
  const cycle = cycleIn(graph)
  if (cycle) refuse([`The graph has a cycle, in which each task waits for the next: ${cycle.join(' → ')}.`], cycle)
  if (graph.length > maxTasks) refuse([`The graph has ${graph.length} tasks; the maximum is ${maxTasks}.`])
  return { added, changed, removed: remove }
}

function refuse(problems: readonly string[], cycle?: readonly string[]): void {
  if (problems.length > 0) throw new PlanRefused({ problems, ...(cycle && { cycle }) })
}

function duplicates(ids: readonly string[]): string[] {
  return unique(ids.filter((id, index) => ids.indexOf(id) < index))
}

function unique(ids: readonly string[]): string[] {
  return [...new Set(ids)]
}
