/**
 * Has a team's agent work on a task that was dispatched: dev, QA or merge, as its state calls for, until another is called
 * for. The feature's last task takes the feature with it: it is done, and its work tree is put away.
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

  async function worked({ item, state }: Parameters<Worker>[0], signal: AbortSignal): Promise<WorkDone> {
    if (item.type !== 'task') throw new Error(`${item.type} is no task`)
    const { featureId, taskId } = item
    const as = agentFor('task', state) ?? 'dev'
    const done = doneOf(await runTask(parts, { featureId, taskId, as }, { signal }))
    const tasks = await work.listTasks(featureId)
    if (done.outcome === 'done' && tasks.every(task => task.state === 'merged'))
      await runFeature(parts, featureId, { signal })
    const now = tasks.find(task => task.taskId === taskId)?.state
    return now === undefined ? done : { ...done, to: now }
  }

  return {
    async work(job, signal) {
      try {
        return await worked(job, signal)
      } catch (error) {
        // Somebody else is at work on the feature: nothing was done, and nothing went wrong.
        if (signal.aborted || error instanceof LeaseHeld) {
          return { outcome: 'stopped', reason: error instanceof Error ? error.message : String(error) }
        }
        if (error instanceof RepositoryMissing) return { outcome: 'parked', reason: error.message }
        throw error
      }
    },
    async choose(tasks) {
      const chosen = new Set<string>()
      for (const featureId of new Set(tasks.map(task => task.featureId))) {
        const [feature, all, team] = await Promise.all([
          work.getFeature(featureId),
          work.listTasks(featureId),
          engine.store.holderOf({ project: scope.project, name: teamLease(featureId) }),
        ])
        // In planning a person or the PM is still at it; whoever says that it is in progress lets it begin.
        const next = feature.state === 'in_progress' && !team ? nextOf(all) : undefined
        if (next) chosen.add(JSON.stringify([featureId, next.taskId]))
      }
      return chosen
    },
  }
}

function doneOf(end: TaskEnd): WorkDone {
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
