/**
 * Runs the agent of a dispatched task (dev, QA or merge, by its state) until another agent is needed. After the last task
 * the feature is done, and its worktree is removed.
 */
import { LeaseHeld, RepositoryMissing } from '../../errors.ts'
import { agentFor } from '../../log/views/work/state-transitions.ts'
import type { TaskWorker, WorkDone, Worker } from '../scheduling/worker.ts'
import type { TeamParts } from '../team-access.ts'
import { teamLease } from './feature-shift.ts'
import type { TaskEnd } from './task.ts'
import { nextOf } from './team.ts'
import { runFeature, runTask } from './team-run.ts'

export function taskWorker(parts: TeamParts): TaskWorker {
  const { engine, scope, work } = parts

  async function workOn({ item, state }: Parameters<Worker>[0], signal: AbortSignal): Promise<WorkDone> {
    if (item.type !== 'task') throw new Error(`${item.type} is no task`)
    const { featureId, taskId } = item
    const as = agentFor('task', state) ?? 'dev'
    const result = outcomeOf(await runTask(parts, { featureId, taskId, as }, { signal }))
    const tasks = await work.listTasks(featureId)
    if (result.outcome === 'done' && tasks.every(task => task.state === 'merged'))
      await runFeature(parts, featureId, { signal })
    const newState = tasks.find(task => task.taskId === taskId)?.state
    return newState === undefined ? result : { ...result, to: newState }
  }

  return {
    async work(job, signal) {
      try {
        return await workOn(job, signal)
      } catch (error) {
        // Another process works on the feature. That is no failure.
        if (signal.aborted || error instanceof LeaseHeld) {
          return { outcome: 'stopped', reason: error instanceof Error ? error.message : String(error) }
        }
        if (error instanceof RepositoryMissing) return { outcome: 'parked', reason: error.message }
        throw error
      }
    },
    async choose(tasks) {
      const taskKeys = new Set<string>()
      for (const featureId of new Set(tasks.map(task => task.featureId))) {
        const [feature, allTasks, lease] = await Promise.all([
          work.getFeature(featureId),
          work.listTasks(featureId),
          engine.store.holderOf({ project: scope.project, name: teamLease(featureId) }),
        ])
        // A feature in planning is not ready: moving it to in_progress starts it.
        const next = feature.state === 'in_progress' && !lease ? nextOf(allTasks) : undefined
        if (next) taskKeys.add(JSON.stringify([featureId, next.taskId]))
      }
      return taskKeys
    },
  }
}

function outcomeOf(end: TaskEnd): WorkDone {
  switch (end.end) {
    case 'merged':
      return { outcome: 'done', summary: 'It is merged.' }
    case 'passed': {
      const text = end.reason === undefined ? end.state : `${end.state}: ${end.reason}`
      return { outcome: 'continues', text }
    }
    case 'held':
      return { outcome: 'parked', reason: end.reason }
    case 'waiting':
      return { outcome: 'failed', reason: end.reason }
    case 'stopped':
      return { outcome: 'stopped', reason: 'it was stopped' }
  }
}
