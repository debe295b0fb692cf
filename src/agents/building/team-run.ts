/** Runs a team on a feature until all of it is merged, or somebody must help; and a single task's loop. */
import { IllegalState } from '../../errors.ts'
import type { TaskState } from '../../log/events/work/work.ts'
import type { WorkItem } from '../../log/events/work-item.ts'
import type { RalphState } from '../../log/views/work/ralph.ts'
import { isHeld } from '../../log/views/work/state-transitions.ts'
import type { TeamParts } from '../team-access.ts'
import { type Shift, withShift } from './feature-shift.ts'
import { putAway } from './feature-worktree.ts'
import { planFeature } from './plan-feature.ts'
import { type TaskDesk, type TaskEnd, workOnTask } from './task.ts'
import type { TaskRoom } from './task-context.ts'
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
    if (options.retries) await takeUpAgain(parts, shift)
    let end: TeamEnd
    try {
      const { model } = options
      const run = { signal, ...(model !== undefined && { model }) }
      end = await runTeam(
        {
          tasks: () => work.listTasks(featureId),
          plan: () => planFeature(parts, shift.feature, { run, onProgress, hears: shift.hears }),
          work: ({ taskId }) =>
            shift.inRoom(taskId, room =>
              workOnTask(taskDesk(parts, room, shift), { signal, mostReturns: parts.settings.returns }),
            ),
        },
        signal,
      )
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      await work.recordAttempt(item, { outcome: 'failed', reason }, write)
      throw error
    }
    if (end.outcome === 'done') await putAway(work, featureId, await shift.place(), write)
    await ended(parts, featureId, end, shift)
    const tasks = await work.listTasks(featureId)
    return { featureId, ...end, tasks: tasks.map(({ taskId, title, state }) => ({ taskId, title, state })) }
  })
}

async function ended(
  { work }: TeamParts,
  featureId: string,
  { outcome, reason }: TeamEnd,
  { write }: Shift,
): Promise<void> {
  const item: WorkItem = { type: 'feature', featureId }
  const how = outcome === 'done' ? 'done' : outcome === 'stopped' ? 'aborted' : 'failed'
  const why = reason ? `${outcome}: ${reason}` : outcome
  await work.recordAttempt(item, { outcome: how, reason: why, data: { outcome } }, write)
  const { state } = await work.getFeature(featureId)
  if (outcome === 'done') await work.moveFeature(featureId, 'done', {}, write)
  // Whoever stopped it from elsewhere has said so already.
  else if (outcome === 'stopped' && state !== 'stopped') await work.moveFeature(featureId, 'stopped', {}, write)
}

/** What is held goes back to where it was, or to dev where it cannot. */
async function takeUpAgain({ work }: TeamParts, { feature, write }: Shift): Promise<void> {
  const { featureId } = feature
  for (const { taskId, state, heldIn = 'in_dev' } of await work.listTasks(featureId)) {
    if (isHeld(state)) await work.moveTask(featureId, taskId, heldIn, { reason: 'taken up again' }, write)
  }
}

function taskDesk({ work }: TeamParts, room: TaskRoom, { limits }: Shift): TaskDesk {
  const { task, item, write, onProgress } = room
  const { featureId, taskId, title } = task
  return {
    async standing() {
      const found = await room.engine.store.conversationOf(room.scope.project, item)
      const { work, ralph, review, landing } = found?.info ?? {}
      if (work?.type !== 'task') return { state: 'planning', since: 0 }
      return { state: work.state, since: work.move?.version ?? 0, ralph, review, landing, reason: work.move?.reason }
    },
    async move(to, reason) {
      const { state: from } = await work.getTask(featureId, taskId)
      await work.moveTask(featureId, taskId, to, reason === undefined ? {} : { reason }, write)
      onProgress({ ...{ type: 'task', taskId, title, from, to }, ...(reason !== undefined && { reason }) })
    },
    develop: feedback => developTask(room, { feedback, limits }),
    review: () => reviewTask(room),
    land: () => landTask(room),
  }
}

/** One task as far as one kind of agent takes it: to where another is called for, or to its end. */
export function runTask(
  parts: TeamParts,
  { featureId, taskId, as }: { featureId: string; taskId: string; as: string },
  options: TeamOptions,
): Promise<TaskEnd> {
  return withShift(parts, featureId, options, shift =>
    shift.inRoom(taskId, room =>
      workOnTask(taskDesk(parts, room, shift), { signal: shift.signal, mostReturns: parts.settings.returns, as }),
    ),
  )
}

/** The loop of one task and nothing else: it ends in dev_complete, or has failed, or stays where it was stopped. */
export function runLoop(
  parts: TeamParts,
  { featureId, taskId }: { featureId: string; taskId: string },
  options: TeamOptions,
): Promise<RalphState> {
  return withShift(parts, featureId, options, shift =>
    shift.inRoom(taskId, async room => {
      const desk = taskDesk(parts, room, shift)
      const { state } = await desk.standing()
      if (state === 'planning' || isHeld(state)) await desk.move('in_dev')
      const { state: now, review } = await desk.standing()
      if (now !== 'in_dev') {
        throw new IllegalState(`Task ${taskId} is in state ${now}; dev is done with it.`, { featureId, taskId })
      }
      const loop = await desk.develop(review?.verdict === 'return' ? review.feedback : undefined)
      if (loop.outcome === 'passed') await desk.move('dev_complete')
      else if (loop.outcome !== 'aborted') await desk.move('failed', `${loop.outcome}: ${loop.reason ?? ''}`)
      return loop
    }),
  )
}
