/**
 * Which states a work item may go to from which: one table per kind.
 *
 * Out of `failed` and `blocked` a task goes back to where it was, or begins again; it cannot jump ahead by them.
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
  // To in_dev: QA returns it with what is to be done better.
  in_qa: ['qa_complete', 'in_dev', 'dev_complete', 'failed', 'blocked'],
  qa_complete: ['ready_for_merge', 'in_qa', 'in_dev', 'failed', 'blocked'],
  // To in_dev: it does not fit what was merged meanwhile.
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

/** Whether a task in this state waits for somebody to help it on. */
export function isHeld(state: string): boolean {
  return state === 'failed' || state === 'blocked'
}

/** @param heldIn of a task that failed or is blocked: the state that happened in */
export function legalMoves(type: WorkType, state: string, heldIn?: string): readonly string[] {
  if (type === 'feature') return featureMoves[state as FeatureState] ?? []
  if (type === 'bead') return beadMoves[state as BeadState] ?? []
  const legal: readonly string[] = taskMoves[state as TaskState] ?? []
  return isHeld(state) && heldIn !== undefined && !legal.includes(heldIn) ? [heldIn, ...legal] : legal
}

/** The kind of agent that a state calls for; undefined where nobody can act, or a person must. */
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
