/**
 * State of a work item, folded from its conversation: transitions, attempts and results; for a feature also its task
 * graph.
 *
 * Long texts stay in the log: the head has their versions.
 */
import type { Metadata } from '../../events/metadata.ts'
import type { RecordedEvent } from '../../events/recorded-event.ts'
import {
  type AttemptOutcome,
  type BeadState,
  type FeatureState,
  type PlannedTask,
  type TaskState,
  usualPriority,
  type WorkBy,
} from '../../events/work/work.ts'
import { mergeMetadata } from '../metadata.ts'
import { firstState, isHeld } from './state-transitions.ts'

export type WorkState = FeatureWork | TaskWork | BeadWork

export interface WorkStanding {
  /** ISO time it entered its state. */
  since: string
  /** The newest transition, if any. */
  move?: WorkMove
  /** Number of times it entered each state. */
  visits: Readonly<Record<string, number>>
  /** The newest result. */
  result?: WorkResult
  attempts?: WorkAttempts
  worktree?: Worktree
}

export interface WorkMove {
  from: string
  to: string
  reason?: string
  by?: WorkBy
  data?: Metadata
  version: number
}

export interface WorkResult {
  summary: string
  by?: WorkBy
  data?: Metadata
  version: number
  at: string
}

export interface WorkAttempts {
  /** All attempts. */
  count: number
  /** Consecutive failures, including the newest attempt. */
  failed: number
  /** ISO time before which it is not retried. */
  notBefore?: string
  /** The newest. */
  last: { outcome: AttemptOutcome; reason?: string; by?: WorkBy; data?: Metadata; at: string; version: number }
}

export interface Worktree {
  /** Relative to the project's root. */
  path: string
  branch: string
  base?: string
  data?: Metadata
  version: number
}

export interface FeatureWork extends WorkStanding {
  type: 'feature'
  state: FeatureState
  name: string
  /** Versions of the current goal and specification. */
  goalAt?: number
  specAt?: number
  baseBranch?: string
  priority: number
  data: Metadata
  /** In planning order. */
  tasks: readonly GraphTask[]
  /** Version of the graph's newest change. */
  plannedAt?: number
}

/** A task in the graph. */
export interface GraphTask extends Omit<PlannedTask, 'description'> {
  /** Version of the plan with its description, if it has one. */
  describedAt?: number
}

export interface TaskWork extends WorkStanding {
  type: 'task'
  state: TaskState
  /** For a failed or blocked task: the state in which that happened. */
  heldIn?: TaskState
}

export interface BeadWork extends WorkStanding {
  type: 'bead'
  state: BeadState
  title: string
  /** Version with its description. */
  descriptionAt?: number
  priority: number
  dependencies: readonly string[]
  agent?: string
  kind?: string
  labels?: readonly string[]
  data: Metadata
}

export function evolveWork(state: WorkState | undefined, recorded: RecordedEvent): WorkState | undefined {
  const { event, at, version } = recorded
  switch (event.type) {
    case 'feature.described': {
      const known = featureIn(state, { at, name: event.name ?? event.featureId })
      const { name = known.name, goal, spec, baseBranch, priority = known.priority, data } = event
      return {
        ...known,
        name,
        ...(goal !== undefined && { goalAt: version }),
        ...(spec !== undefined && { specAt: version }),
        ...(baseBranch !== undefined && { baseBranch }),
        priority,
        data: data ? mergeMetadata(known.data, data) : known.data,
      }
    }
    case 'tasks.planned': {
      const known = featureIn(state, { at, name: event.featureId })
      const gone = new Set(event.removed)
      const changed = new Map(event.changed.map(task => [task.taskId, task]))
      return {
        ...known,
        tasks: [
          ...known.tasks
            .filter(task => !gone.has(task.taskId))
            .map(task => graphTask(changed.get(task.taskId), version, task) ?? task),
          ...event.added.map(task => graphTask(task, version)!),
        ],
        plannedAt: version,
      }
    }
    case 'work.described': {
      if (event.item.type !== 'bead') return state
      const known = state?.type === 'bead' ? state : newBead(event.title ?? event.item.beadId, at)
      const { title = known.title, description, priority = known.priority, data } = event
      const { dependencies = known.dependencies, agent, kind, labels } = event
      return {
        ...known,
        title,
        ...(description !== undefined && { descriptionAt: version }),
        priority,
        dependencies,
        ...(agent !== undefined && { agent }),
        ...(kind !== undefined && { kind }),
        ...(labels !== undefined && { labels }),
        data: data ? mergeMetadata(known.data, data) : known.data,
      }
    }
    case 'work.moved': {
      const known = standing(state, event.item.type, at)
      if (!known) return state
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
        ...known,
        state: to,
        since: at,
        move,
        visits: { ...known.visits, [to]: (known.visits[to] ?? 0) + 1 },
        ...(known.attempts && (from === 'parked' || isHeld(from)) && { attempts: begunAnew(known.attempts) }),
      } as WorkState
      return known.type === 'task' ? held(moved as TaskWork, known) : moved
    }
    case 'work.reported': {
      const known = standing(state, event.item.type, at)
      const { summary, by, data } = event
      return known && { ...known, result: { summary, ...(by && { by }), ...(data && { data }), version, at } }
    }
    case 'work.attempted': {
      const known = standing(state, event.item.type, at)
      if (!known) return state
      const { outcome, reason, notBefore, by, data } = event
      const { count = 0, failed = 0 } = known.attempts ?? {}
      return {
        ...known,
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
      const known = standing(state, event.item.type, at)
      const { path, branch, base, data } = event
      return (
        known && {
          ...known,
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
function standing(state: WorkState | undefined, type: string, at: string): WorkState | undefined {
  if (state) return state
  return type === 'task' ? { type: 'task', state: firstState.task, since: at, visits: {} } : undefined
}

function held(moved: TaskWork, before: TaskWork): TaskWork {
  const { heldIn: _, ...rest } = moved
  if (!isHeld(moved.state)) return rest
  return { ...rest, heldIn: isHeld(before.state) ? (before.heldIn ?? 'planning') : before.state }
}

/** A person reviewed the failures and released it: earlier failures no longer count, but the attempts do. */
function begunAnew({ notBefore: _, ...attempts }: WorkAttempts): WorkAttempts {
  return { ...attempts, failed: 0 }
}

function graphTask(task: PlannedTask | undefined, version: number, before?: GraphTask): GraphTask | undefined {
  if (!task) return undefined
  const { description, ...rest } = task
  const describedAt = description === undefined ? before?.describedAt : version
  return { ...rest, ...(describedAt !== undefined && { describedAt }) }
}
