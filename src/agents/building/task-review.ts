/** Has QA review the work on a task. After an answer without a verdict it is asked once more. */

import { giveReview } from '../../log/commands/work/ralph.ts'
import { isOfType } from '../../log/events/recorded-event.ts'
import type { CheckResult } from '../../log/events/work/ralph.ts'
import type { ReviewState } from '../../log/views/work/ralph.ts'
import type { RunResult } from '../runs/run.ts'
import { type Review, reviewIn, reviewTool } from '../tools/review.ts'
import { commitState, git } from './git/git.ts'
import { reviewMessage, verdictMissing } from './review-message.ts'
import type { TaskContext } from './task-context.ts'

export async function reviewTask(context: TaskContext): Promise<{ review: ReviewState } | { problem: string }> {
  const { task, worktree, onProgress } = context
  const session = await context.session('qa', 'in_qa')
  const { info } = await context.head()
  const number = (info.review?.number ?? 0) + 1
  const { commit } = await commitState(worktree.path)
  let recordedReview: ReviewState | undefined

  async function record({ verdict, feedback }: Review): Promise<void> {
    const review = { sessionId: session.id, agent: session.agentName, number, verdict, feedback, commit }
    recordedReview = (await context.record(id => giveReview(id, review), session)).info.review
  }

  const ask = async (message: string, { once, fresh }: { once: string; fresh: boolean }): Promise<RunResult> => {
    const tools = [reviewTool(record)]
    const result = await context.run(session, { message, once, fresh, folder: worktree.folder, tools })
    const textReview = recordedReview ? undefined : reviewIn(result.text)
    if (textReview && result.outcome === 'done') await record(textReview)
    return result
  }

  const key = `review ${info.id} ${number}`
  const message = reviewMessage({
    task,
    number,
    diff: await git(worktree.path, 'diff', '--no-ext-diff', '--no-textconv', '--no-color', `${worktree.base}...HEAD`),
    checks: await lastChecks(context),
    lastFeedback: info.review?.feedback,
  })
  let result = await ask(message, { once: key, fresh: true })
  if (!recordedReview && result.outcome === 'done')
    result = await ask(verdictMissing, { once: `${key} again`, fresh: false })
  if (!recordedReview) {
    const reason = result.outcome === 'done' ? 'it answered without a verdict' : (result.reason ?? result.outcome)
    return { problem: `QA gave no verdict: ${reason}` }
  }
  onProgress({
    type: 'review',
    taskId: task.taskId,
    verdict: recordedReview.verdict,
    feedback: recordedReview.feedback,
  })
  return { review: recordedReview }
}

/** Reads the results of checks from the newest iteration of the loop. */
async function lastChecks({ engine, scope, head }: TaskContext): Promise<CheckResult[]> {
  const { info } = await head()
  const version = info.ralph?.attempts.at(-1)
  if (version === undefined) return []
  const range = { project: scope.project, conversationId: info.id, from: version, to: version }
  const [recorded] = await engine.store.read(range)
  return recorded && isOfType(recorded, 'iteration.ended') ? recorded.event.checks : []
}
