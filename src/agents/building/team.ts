/** A feature, from a wish to merged work: planned, then its tasks one after the other as their dependencies allow. */
import type { TaskState } from '../../log/events/work/work.ts'
import { isHeld } from '../../log/views/work/state-transitions.ts'
import type { TaskEnd } from './task.ts'

/** A task as far as the order of work is concerned. */
interface OrderedTask {
  taskId: string
  title: string
  state: TaskState
  /** Of one that failed or is blocked: the state that happened in. */
  heldIn?: TaskState
  priority: number
  /** Dependencies that are not merged yet. */
  waitsFor: readonly string[]
}

interface TeamDesk {
  tasks(): Promise<OrderedTask[]>
  /** Has the project manager plan; gives why nothing came of it, if nothing did. */
  plan(): Promise<string | undefined>
  work(task: OrderedTask): Promise<TaskEnd>
}

/**
 * `done`: every task is merged. `stuck`: what is left is blocked or has failed. `waiting`: a person must do something
 * first. `stopped`: somebody said so.
 */
export type TeamOutcome = 'done' | 'stuck' | 'waiting' | 'stopped'

export interface TeamEnd {
  outcome: TeamOutcome
  reason?: string
}

export async function runTeam(desk: TeamDesk, signal: AbortSignal): Promise<TeamEnd> {
  if ((await desk.tasks()).length === 0) {
    const problem = await desk.plan()
    if (signal.aborted) return { outcome: 'stopped' }
    if (problem !== undefined) return { outcome: 'waiting', reason: problem }
  }
  for (;;) {
    if (signal.aborted) return { outcome: 'stopped' }
    const tasks = await desk.tasks()
    const next = nextOf(tasks)
    if (!next) return endOf(tasks)
    const end = await desk.work(next)
    if (end.end === 'stopped') return { outcome: 'stopped' }
    if (end.end === 'waiting') return { outcome: 'waiting', reason: `${next.taskId}: ${end.reason}` }
  }
}

/**
 * What was begun goes before what was not: all tasks of a feature share its worktree and branch, so one is worked on at a
 * time, and one that failed half-way keeps the others from landing its unfinished work with theirs.
 */
export function nextOf(tasks: readonly OrderedTask[]): OrderedTask | undefined {
  const begun = tasks.find(({ state }) => state !== 'planning' && state !== 'merged' && !isHeld(state))
  if (begun) return begun
  if (tasks.some(({ state, heldIn }) => isHeld(state) && heldIn !== 'planning')) return undefined
  const ready = tasks.filter(({ state, waitsFor }) => state === 'planning' && waitsFor.length === 0)
  return ready.reduce<OrderedTask | undefined>(
    (first, task) => (first && first.priority <= task.priority ? first : task),
    undefined,
  )
}

function endOf(tasks: readonly OrderedTask[]): TeamEnd {
  if (tasks.every(task => task.state === 'merged')) return { outcome: 'done' }
  const held = tasks.filter(task => isHeld(task.state))
  return { outcome: 'stuck', reason: held.map(({ taskId, state }) => `${taskId} is ${state}`).join(', ') }
}
