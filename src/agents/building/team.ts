/** Builds a feature: plans it, then works on its tasks one by one, in the order of dependencies. */
import type { TaskState } from '../../log/events/work/work.ts'
import { isHeld } from '../../log/views/work/state-transitions.ts'
import type { TaskEnd } from './task.ts'

/** Fields of a task that decide its order. */
interface OrderedTask {
  taskId: string
  title: string
  state: TaskState
  /** State in which the task failed or was blocked. */
  heldIn?: TaskState
  priority: number
  /** Dependencies that are not merged. */
  waitsFor: readonly string[]
}

interface TeamPort {
  tasks(): Promise<OrderedTask[]>
  /** Has the project manager plan; returns the reason if no task was planned. */
  plan(): Promise<string | undefined>
  work(task: OrderedTask): Promise<TaskEnd>
}

/**
 * `done`: every task is merged. `stuck`: the other tasks are blocked or failed. `waiting`: a person must act first.
 * `stopped`: by a signal, or a call of `stop`.
 */
export type TeamOutcome = 'done' | 'stuck' | 'waiting' | 'stopped'

export interface TeamEnd {
  outcome: TeamOutcome
  reason?: string
}

export async function runTeam(port: TeamPort, signal: AbortSignal): Promise<TeamEnd> {
  if ((await port.tasks()).length === 0) {
    const problem = await port.plan()
    if (signal.aborted) return { outcome: 'stopped' }
    if (problem !== undefined) return { outcome: 'waiting', reason: problem }
  }
  for (;;) {
    if (signal.aborted) return { outcome: 'stopped' }
    const tasks = await port.tasks()
    const next = nextOf(tasks)
    if (!next) return endOf(tasks)
    const end = await port.work(next)
    if (end.end === 'stopped') return { outcome: 'stopped' }
    if (end.end === 'waiting') return { outcome: 'waiting', reason: `${next.taskId}: ${end.reason}` }
  }
}

/**
 * Returns the started task, else the ready one of the best priority. Tasks share a worktree and branch, so only one is in
 * work. A task that failed after its start stops the others: they would land its unfinished work.
 */
export function nextOf(tasks: readonly OrderedTask[]): OrderedTask | undefined {
  const startedTask = tasks.find(({ state }) => state !== 'planning' && state !== 'merged' && !isHeld(state))
  if (startedTask) return startedTask
  if (tasks.some(({ state, heldIn }) => isHeld(state) && heldIn !== 'planning')) return undefined
  const ready = tasks.filter(({ state, waitsFor }) => state === 'planning' && waitsFor.length === 0)
  return ready.reduce<OrderedTask | undefined>(
    (best, task) => (best && best.priority <= task.priority ? best : task),
    undefined,
  )
}

function endOf(tasks: readonly OrderedTask[]): TeamEnd {
  if (tasks.every(task => task.state === 'merged')) return { outcome: 'done' }
  const held = tasks.filter(task => isHeld(task.state))
  return { outcome: 'stuck', reason: held.map(({ taskId, state }) => `${taskId} is ${state}`).join(', ') }
}
