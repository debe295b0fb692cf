/** Runs a team on a feature until all tasks are merged or a person must act; also one task or its loop alone. */
import { IllegalState } from '../../errors.ts'
import type { TaskState } from '../../log/events/work/work.ts'
import type { WorkItem } from '../../log/events/work-item.ts'
import type { RalphState } from '../../log/views/work/ralph.ts'
import { isHeld } from '../../log/views/work/state-transitions.ts'
import type { TeamParts } from '../team-access.ts'
import { type Shift, withShift } from './feature-shift.ts'
import { removeFeatureWorktree } from './feature-worktree.ts'
import { planFeature } from './plan-feature.ts'
import { type TaskEnd, type TaskPort, workOnTask } from './task.ts'
import type { TaskContext } from './task-context.ts'
import { landTask } from './task-landing.ts'
import { developTask } from './task-loop.ts'
import { reviewTask } from './task-review.ts'
import { runTeam, type TeamEnd } from './team.ts'
import type { TeamOptions } from './team-options.ts'

export interface TeamResult extends TeamEnd {
  featureId: string
  tasks: ReadonlyArray<{ taskId: string; title: string; state: TaskState }>
}

export function runFeature(parts: TeamParts, featureId: string, options: TeamOptions): Promise<TeamResult> {
  const { work } = parts
  const item: WorkItem = { type: 'feature', featureId }
  return withShift(parts, featureId, options, async shift => {
    const { signal, write, onProgress } = shift
    if (options.retries) await retryHeldTasks(parts, shift)
    let end: TeamEnd
    try {
      const { model } = options
      const run = { signal, ...(model !== undefined && { model }) }
      end = await runTeam(
        {
          tasks: () => work.listTasks(featureId),
          plan: () => planFeature(parts, shift.feature, { run, onProgress, onRunPart: shift.onRunPart }),
          work: ({ taskId }) =>
            shift.onTask(taskId, context =>
              workOnTask(taskPort(parts, context, shift), { signal, maxReturns: parts.settings.returns }),
            ),
        },
        signal,
      )
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      await work.recordAttempt(item, { outcome: 'failed', reason }, write)
      throw error
    }
    if (end.outcome === 'done') await removeFeatureWorktree(work, featureId, await shift.worktree(), write)
    await recordEnd(parts, featureId, end, shift)
    const tasks = await work.listTasks(featureId)
    return { featureId, ...end, tasks: tasks.map(({ taskId, title, state }) => ({ taskId, title, state })) }
  })
}

async function recordEnd(
  { work }: TeamParts,
  featureId: string,
  { outcome, reason }: TeamEnd,
  { write }: Shift,
): Promise<void> {
  const item: WorkItem = { type: 'feature', featureId }
  const attempt = outcome === 'done' ? 'done' : outcome === 'stopped' ? 'aborted' : 'failed'
  const attemptReason = reason ? `${outcome}: ${reason}` : outcome
  await work.recordAttempt(item, { outcome: attempt, reason: attemptReason, data: { outcome } }, write)
  const { state } = await work.getFeature(featureId)
  if (outcome === 'done') await work.moveFeature(featureId, 'done', {}, write)
  // A stop by another process is recorded already.
  else if (outcome === 'stopped' && state !== 'stopped') await work.moveFeature(featureId, 'stopped', {}, write)
}

/** Moves failed and blocked tasks back to the state they were held in, or to dev. */
async function retryHeldTasks({ work }: TeamParts, { feature, write }: Shift): Promise<void> {
  const { featureId } = feature
  for (const { taskId, state, heldIn = 'in_dev' } of await work.listTasks(featureId)) {
    if (isHeld(state)) await work.moveTask(featureId, taskId, heldIn, { reason: 'taken up again' }, write)
  }
}

function taskPort({ work }: TeamParts, context: TaskContext, { limits }: Shift): TaskPort {
  const { task, item, write, onProgress } = context
  const { featureId, taskId, title } = task
  return {
    async standing() {
      const conversation = await context.engine.store.conversationOf(context.scope.project, item)
      const { work, ralph, review, landing } = conversation?.info ?? {}
      if (work?.type !== 'task') return { state: 'planning', since: 0 }
      return { state: work.state, since: work.move?.version ?? 0, ralph, review, landing, reason: work.move?.reason }
    },
    async move(to, reason) {
      const { state: from } = await work.getTask(featureId, taskId)
      await work.moveTask(featureId, taskId, to, reason === undefined ? {} : { reason }, write)
      onProgress({ ...{ type: 'task', taskId, title, from, to }, ...(reason !== undefined && { reason }) })
    },
    develop: feedback => developTask(context, { feedback, limits }),
    review: () => reviewTask(context),
    land: () => landTask(context),
  }
}

/** Runs one task until it ends or another kind of agent is needed. */
export function runTask(
  parts: TeamParts,
  { featureId, taskId, as }: { featureId: string; taskId: string; as: string },
  options: TeamOptions,
): Promise<TaskEnd> {
  return withShift(parts, featureId, options, shift =>
    shift.onTask(taskId, context =>
      workOnTask(taskPort(parts, context, shift), { signal: shift.signal, maxReturns: parts.settings.returns, as }),
    ),
  )
}

/** Runs only the loop of one task, which ends in dev_complete or failed, or stays in_dev when stopped. */
export function runLoop(
  parts: TeamParts,
  { featureId, taskId }: { featureId: string; taskId: string },
  options: TeamOptions,
): Promise<RalphState> {
  return withShift(parts, featureId, options, shift =>
    shift.onTask(taskId, async context => {
      const port = taskPort(parts, context, shift)
      const { state } = await port.standing()
      if (state === 'planning' || isHeld(state)) await port.move('in_dev')
      const { state: newState, review } = await port.standing()
      if (newState !== 'in_dev') {
        throw new IllegalState(`Task ${taskId} is in state ${newState}; dev has completed it. Nothing was run.`, {
          featureId,
          taskId,
        })
      }
      const loop = await port.develop(review?.verdict === 'return' ? review.feedback : undefined)
      if (loop.outcome === 'passed') await port.move('dev_complete')
      else if (loop.outcome !== 'aborted') await port.move('failed', `${loop.outcome}: ${loop.reason ?? ''}`)
      return loop
    }),
  )
}
