/** Has QA look at what a task's dev left, and give a verdict; a model that only talks is asked once more. */

import { giveReview } from '../../log/commands/work/ralph.ts'
import { isOfType } from '../../log/events/recorded-event.ts'
import type { CheckResult } from '../../log/events/work/ralph.ts'
import type { ReviewState } from '../../log/views/work/ralph.ts'
import type { RunResult } from '../runs/run.ts'
import { type Review, reviewIn, reviewTool } from '../tools/review.ts'
import { commitState, git } from './git/git.ts'
import { reviewMessage, verdictMissing } from './review-message.ts'
import type { TaskRoom } from './task-context.ts'

export async function reviewTask(room: TaskRoom): Promise<{ review: ReviewState } | { problem: string }> {
  const { task, place, onProgress } = room
  const session = await room.session('qa', 'in_qa')
  const { info } = await room.head()
  const number = (info.review?.number ?? 0) + 1
  const { commit } = await commitState(place.path)
  let given: ReviewState | undefined

  async function record({ verdict, feedback }: Review): Promise<void> {
    const review = { sessionId: session.id, agent: session.agentName, number, verdict, feedback, commit }
    given = (await room.record(id => giveReview(id, review), session)).info.review
  }

  const ask = async (message: string, { once, fresh }: { once: string; fresh: boolean }): Promise<RunResult> => {
    const tools = [reviewTool(record)]
    const result = await room.run(session, { message, once, fresh, folder: place.folder, tools })
    const said = given ? undefined : reviewIn(result.text)
    if (said && result.outcome === 'done') await record(said)
    return result
  }

  const key = `review ${info.id} ${number}`
  const message = reviewMessage({
    task,
    number,
    diff: await git(place.path, 'diff', '--no-ext-diff', '--no-textconv', '--no-color', `${place.base}...HEAD`),
    checks: await lastChecks(room),
    before: info.review?.feedback,
  })
  let result = await ask(message, { once: key, fresh: true })
  if (!given && result.outcome === 'done') result = await ask(verdictMissing, { once: `${key} again`, fresh: false })
  if (!given) {
    const why = result.outcome === 'done' ? 'it answered without a verdict' : (result.reason ?? result.outcome)
    return { problem: `QA gave no verdict: ${why}` }
  }
  onProgress({ type: 'review', taskId: task.taskId, verdict: given.verdict, feedback: given.feedback })
  return { review: given }
}

/** As the newest iteration of the loop has them. */
async function lastChecks({ engine, scope, head }: TaskRoom): Promise<CheckResult[]> {
  const { info } = await head()
  const version = info.ralph?.attempts.at(-1)
  if (version === undefined) return []
  const place = { project: scope.project, conversationId: info.id, from: version, to: version }
  const [recorded] = await engine.store.read(place)
  return recorded && isOfType(recorded, 'iteration.ended') ? recorded.event.checks : []
}
