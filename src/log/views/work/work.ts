/**
 * State of a work item, folded from its conversation: transitions, attempts and results; for a feature also its task
 * graph.
 *
 * Long texts stay in the log: the head has their versions.
 */
import { z } from 'zod'
import { Metadata } from '../../events/metadata.ts'
import type { RecordedEvent } from '../../events/recorded-event.ts'
import {
  AttemptOutcome,
  BeadState,
  FeatureState,
  PlannedTask,
  TaskState,
  usualPriority,
  WorkBy,
} from '../../events/work/work.ts'
import { mergeMetadata } from '../metadata.ts'
import { firstState, isHeld } from './state-transitions.ts'

/** The newest transition. */
const WorkMove = z.object({
  from: z.string(),
  to: z.string(),
  reason: z.string().optional(),
  by: WorkBy.optional(),
  data: Metadata.optional(),
  version: z.int(),
})
type WorkMove = z.infer<typeof WorkMove>

/** The newest result. */
const WorkResult = z.object({
  summary: z.string(),
  by: WorkBy.optional(),
  data: Metadata.optional(),
  version: z.int(),
  at: z.string(),
})

export const WorkAttempts = z
  .object({
    /** All attempts. */
    count: z.int(),
    /** Consecutive failures, including the newest attempt. */
    failed: z.int(),
    /** ISO time before which it is not retried. */
    notBefore: z.string().optional(),
    /** The newest. */
    last: z.object({
      outcome: AttemptOutcome,
      reason: z.string().optional(),
      by: WorkBy.optional(),
      data: Metadata.optional(),
      at: z.string(),
      version: z.int(),
    }),
  })
  .meta({ id: 'WorkAttempts' })
export type WorkAttempts = z.infer<typeof WorkAttempts>

export const Worktree = z.object({
  /** Relative to the project's root. */
  path: z.string(),
  branch: z.string(),
  base: z.string().optional(),
  data: Metadata.optional(),
  version: z.int(),
})
export type Worktree = z.infer<typeof Worktree>

export const WorkStanding = z.object({
  /** ISO time it entered its state. */
  since: z.string(),
  move: WorkMove.optional(),
  /** Number of times it entered each state. */
  visits: z.record(z.string(), z.int()).readonly(),
  result: WorkResult.optional(),
  attempts: WorkAttempts.optional(),
  worktree: Worktree.optional(),
})
export type WorkStanding = z.infer<typeof WorkStanding>

/** A task in the graph. */
export const GraphTask = PlannedTask.omit({ description: true }).extend({
  /** Version of the plan with its description, if it has one. */
  describedAt: z.int().optional(),
})
export type GraphTask = z.infer<typeof GraphTask>

export const FeatureWork = WorkStanding.extend({
  type: z.literal('feature'),
  state: FeatureState,
  name: z.string(),
  /** Versions of the current goal and specification. */
  goalAt: z.int().optional(),
  specAt: z.int().optional(),
  baseBranch: z.string().optional(),
  priority: z.int(),
  data: Metadata,
  /** In planning order. */
  tasks: z.array(GraphTask).readonly(),
  /** Version of the graph's newest change. */
  plannedAt: z.int().optional(),
})
export type FeatureWork = z.infer<typeof FeatureWork>

export const TaskWork = WorkStanding.extend({
  type: z.literal('task'),
  state: TaskState,
  /** For a failed or blocked task: the state in which that happened. */
  heldIn: TaskState.optional(),
})
export type TaskWork = z.infer<typeof TaskWork>

export const BeadWork = WorkStanding.extend({
  type: z.literal('bead'),
  state: BeadState,
  title: z.string(),
  /** Version with its description. */
  descriptionAt: z.int().optional(),
  priority: z.int(),
  dependencies: z.array(z.string()).readonly(),
  agent: z.string().optional(),
  kind: z.string().optional(),
  labels: z.array(z.string()).readonly().optional(),
  data: Metadata,
})
export type BeadWork = z.infer<typeof BeadWork>

export const WorkState = z.discriminatedUnion('type', [FeatureWork, TaskWork, BeadWork])
export type WorkState = z.infer<typeof WorkState>

export function evolveWork(state: WorkState | undefined, recorded: RecordedEvent): WorkState | undefined {
  const { event, at, version } = recorded
  switch (event.type) {
    case 'feature.described': {
      const feature = featureIn(state, { at, name: event.name ?? event.featureId })
      const { name = feature.name, goal, spec, baseBranch, priority = feature.priority, data } = event
      return {
        ...feature,
        name,
        ...(goal !== undefined && { goalAt: version }),
        ...(spec !== undefined && { specAt: version }),
        ...(baseBranch !== undefined && { baseBranch }),
        priority,
        data: data ? mergeMetadata(feature.data, data) : feature.data,
      }
    }
    case 'tasks.planned': {
      const feature = featureIn(state, { at, name: event.featureId })
      const removed = new Set(event.removed)
      const changed = new Map(event.changed.map(task => [task.taskId, task]))
      return {
        ...feature,
        tasks: [
          ...feature.tasks
            .filter(task => !removed.has(task.taskId))
            .map(task => graphTask(changed.get(task.taskId), version, task) ?? task),
          ...event.added.map(task => graphTask(task, version)!),
        ],
        plannedAt: version,
      }
    }
    case 'work.described': {
      if (event.item.type !== 'bead') return state
      const bead = state?.type === 'bead' ? state : newBead(event.title ?? event.item.beadId, at)
      const { title = bead.title, description, priority = bead.priority, data } = event
      const { dependencies = bead.dependencies, agent, kind, labels } = event
      return {
        ...bead,
        title,
        ...(description !== undefined && { descriptionAt: version }),
        priority,
        dependencies,
        ...(agent !== undefined && { agent }),
        ...(kind !== undefined && { kind }),
        ...(labels !== undefined && { labels }),
        data: data ? mergeMetadata(bead.data, data) : bead.data,
      }
    }
    case 'work.moved': {
      const work = workOf(state, event.item.type, at)
      if (!work) return state
      const { from, to, reason, by, data } = event
      const move: WorkMove = {
        from,
        to,
        ...(reason !== undefined && { reason }),
        ...(by && { by }),
        ...(data && { data }),
        version,
      }
      const moved = {
        ...work,
        state: to,
        since: at,
        move,
        visits: { ...work.visits, [to]: (work.visits[to] ?? 0) + 1 },
        ...(work.attempts && (from === 'parked' || isHeld(from)) && { attempts: withoutFailures(work.attempts) }),
      } as WorkState
      return work.type === 'task' ? withHeldIn(moved as TaskWork, work) : moved
    }
    case 'work.reported': {
      const work = workOf(state, event.item.type, at)
      const { summary, by, data } = event
      return work && { ...work, result: { summary, ...(by && { by }), ...(data && { data }), version, at } }
    }
    case 'work.attempted': {
      const work = workOf(state, event.item.type, at)
      if (!work) return state
      const { outcome, reason, notBefore, by, data } = event
      const { count = 0, failed = 0 } = work.attempts ?? {}
      return {
        ...work,
        attempts: {
          count: count + 1,
          failed: outcome === 'failed' ? failed + 1 : outcome === 'done' ? 0 : failed,
          ...(notBefore !== undefined && { notBefore }),
          last: {
            outcome,
            ...(reason !== undefined && { reason }),
            ...(by && { by }),
            ...(data && { data }),
            at,
            version,
          },
        },
      }
    }
    case 'worktree.created': {
      const work = workOf(state, event.item.type, at)
      const { path, branch, base, data } = event
      return (
        work && {
          ...work,
          worktree: { path, branch, ...(base !== undefined && { base }), ...(data && { data }), version },
        }
      )
    }
    case 'worktree.removed': {
      if (!state) return state
      const { worktree: _, ...rest } = state
      return rest as WorkState
    }
    default:
      return state
  }
}

function featureIn(state: WorkState | undefined, { at, name }: { at: string; name: string }): FeatureWork {
  if (state?.type === 'feature') return state
  const priority = usualPriority
  return { type: 'feature', state: firstState.feature, since: at, visits: {}, name, priority, data: {}, tasks: [] }
}

function newBead(title: string, at: string): BeadWork {
  const priority = usualPriority
  return { type: 'bead', state: firstState.bead, since: at, visits: {}, title, priority, dependencies: [], data: {} }
}

/** A task needs no description of its own, because the graph has it. */
function workOf(state: WorkState | undefined, type: string, at: string): WorkState | undefined {
  if (state) return state
  return type === 'task' ? { type: 'task', state: firstState.task, since: at, visits: {} } : undefined
}

function withHeldIn(moved: TaskWork, before: TaskWork): TaskWork {
  const { heldIn: _, ...rest } = moved
  if (!isHeld(moved.state)) return rest
  return { ...rest, heldIn: isHeld(before.state) ? (before.heldIn ?? 'planning') : before.state }
}

/** After a person released an item, earlier failures no longer count. The number of attempts stays. */
function withoutFailures({ notBefore: _, ...attempts }: WorkAttempts): WorkAttempts {
  return { ...attempts, failed: 0 }
}

function graphTask(task: PlannedTask | undefined, version: number, before?: GraphTask): GraphTask | undefined {
  if (!task) return undefined
  const { description, ...rest } = task
  const describedAt = description === undefined ? before?.describedAt : version
  return { ...rest, ...(describedAt !== undefined && { describedAt }) }
}
