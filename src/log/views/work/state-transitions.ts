/**
 * Allowed state transitions of work items, one table per kind.
 *
 * A failed or blocked task goes back to its earlier state or starts over; it cannot skip ahead that way.
 */
import { BeadState, FeatureState, TaskState } from '../../events/work/work.ts'

const featureMoves: Record<FeatureState, readonly FeatureState[]> = {
  planning: ['in_progress', 'stopped', 'done'],
  in_progress: ['planning', 'stopped', 'done'],
  stopped: ['planning', 'in_progress', 'done'],
  done: ['planning', 'in_progress'],
}

const taskMoves: Record<TaskState, readonly TaskState[]> = {
  planning: ['in_dev', 'failed', 'blocked'],
  in_dev: ['dev_complete', 'planning', 'failed', 'blocked'],
  dev_complete: ['in_qa', 'in_dev', 'failed', 'blocked'],
  // To in_dev: QA returns it with required changes.
  in_qa: ['qa_complete', 'in_dev', 'dev_complete', 'failed', 'blocked'],
  qa_complete: ['ready_for_merge', 'in_qa', 'in_dev', 'failed', 'blocked'],
  // To in_dev: it conflicts with what was merged meanwhile.
  ready_for_merge: ['merged', 'in_qa', 'in_dev', 'failed', 'blocked'],
  merged: [],
  failed: ['planning', 'in_dev', 'blocked'],
  blocked: ['planning', 'in_dev', 'failed'],
}

const beadMoves: Record<BeadState, readonly BeadState[]> = {
  open: ['in_progress', 'done', 'parked'],
  in_progress: ['open', 'done', 'parked'],
  parked: ['open', 'done'],
  done: ['open'],
}

export type WorkType = 'feature' | 'task' | 'bead'

export const firstState = { feature: 'planning', task: 'planning', bead: 'open' } as const

export const workStates: Record<WorkType, readonly string[]> = {
  feature: FeatureState.options,
  task: TaskState.options,
  bead: BeadState.options,
}

/** True when a task in this state waits for help. */
export function isHeld(state: string): boolean {
  return state === 'failed' || state === 'blocked'
}

/** @param heldIn for a failed or blocked task: the state in which that happened */
export function legalMoves(type: WorkType, state: string, heldIn?: string): readonly string[] {
  if (type === 'feature') return featureMoves[state as FeatureState] ?? []
  if (type === 'bead') return beadMoves[state as BeadState] ?? []
  const legal: readonly string[] = taskMoves[state as TaskState] ?? []
  return isHeld(state) && heldIn !== undefined && !legal.includes(heldIn) ? [heldIn, ...legal] : legal
}

/** Returns the type of agent for a state; undefined when a person must act, or nothing can be done. */
export function agentFor(type: WorkType, state: string): string | undefined {
  if (type === 'feature') return state === 'planning' ? 'pm' : undefined
  if (type === 'bead') return state === 'open' || state === 'in_progress' ? 'dev' : undefined
  return taskAgents[state as TaskState]
}

const taskAgents: Partial<Record<TaskState, string>> = {
  planning: 'dev',
  in_dev: 'dev',
  dev_complete: 'qa',
  in_qa: 'qa',
  qa_complete: 'merge',
  ready_for_merge: 'merge',
}
