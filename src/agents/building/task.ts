/**
 * Takes a task from its state to the base branch: dev, QA, merge, and back to dev after a return.
 *
 * The log has the state, and the work done since the move into it. So a process that resumes a task after a crash repeats
 * nothing.
 */
import type { TaskState } from '../../log/events/work/work.ts'
import type { LandingState, RalphState, ReviewState } from '../../log/views/work/ralph.ts'
import { agentFor } from '../../log/views/work/state-transitions.ts'

interface TaskStanding {
  state: TaskState
  /** Version of the move into the state. */
  since: number
  /** The newest loop, review and landing, also from before the move. */
  ralph?: RalphState | undefined
  review?: ReviewState | undefined
  landing?: LandingState | undefined
  /** Reason of the state. */
  reason?: string | undefined
}

/** The port of a task to log, agents and git. */
export interface TaskPort {
  standing(): Promise<TaskStanding>
  move(to: TaskState, reason?: string): Promise<void>
  /** Runs or resumes a Ralph loop. */
  develop(feedback: string | undefined): Promise<RalphState>
  /** Reviews the current work; `problem` is the reason why there is no review. */
  review(): Promise<{ review: ReviewState } | { problem: string }>
  land(): Promise<LandingState>
}

export type TaskEnd =
  | { end: 'merged' }
  /** The task failed or is blocked, and needs a person. */
  | { end: 'held'; reason: string }
  /** A person must act first. */
  | { end: 'waiting'; reason: string }
  | { end: 'stopped' }
  /** Another kind of agent continues. */
  | { end: 'passed'; state: TaskState; reason?: string }

/** Number of returns by QA before a person has to look at the task. */
const defaultReturns = 3

export async function workOnTask(
  port: TaskPort,
  {
    signal,
    maxReturns = defaultReturns,
    as,
  }: {
    signal: AbortSignal
    maxReturns?: number
    /** Kind of agent; the work ends where another kind is needed. */
    as?: string
  },
): Promise<TaskEnd> {
  for (;;) {
    if (signal.aborted) return { end: 'stopped' }
    const { state, since, ralph, review, landing, reason } = await port.standing()
    const agent = agentFor('task', state)
    if (as !== undefined && agent !== undefined && agent !== as)
      return { end: 'passed', state, ...(reason !== undefined && { reason }) }
    switch (state) {
      case 'planning':
        await port.move('in_dev')
        break
      case 'in_dev': {
        const isLoopOver = ralph && ralph.version > since && ralph.outcome !== undefined && ralph.outcome !== 'aborted'
        const feedback = review?.verdict === 'return' ? review.feedback : undefined
        const loop = isLoopOver ? ralph : await port.develop(feedback)
        if (loop.outcome === 'aborted') return { end: 'stopped' }
        if (loop.outcome === 'passed') await port.move('dev_complete')
        else await port.move('failed', `${loop.outcome}: ${loop.reason ?? ''}`)
        break
      }
      case 'dev_complete':
        await port.move('in_qa')
        break
      case 'in_qa': {
        const result = review && review.version > since ? { review } : await port.review()
        if (signal.aborted && !('review' in result)) return { end: 'stopped' }
        if (!('review' in result)) await port.move('blocked', result.problem)
        else if (result.review.verdict === 'pass') await port.move('qa_complete')
        else if (result.review.number % maxReturns === 0)
          await port.move('blocked', `QA returned it ${result.review.number} times: ${result.review.feedback}`)
        else await port.move('in_dev', result.review.feedback)
        break
      }
      case 'qa_complete':
        await port.move('ready_for_merge')
        break
      case 'ready_for_merge': {
        const isLanded = landing?.outcome === 'landed' && landing.version > since
        const end = isLanded ? landing : await port.land()
        if (end.outcome === 'landed') await port.move('merged')
        else if (end.outcome === undefined) return { end: 'stopped' }
        else if (end.outcome === 'waiting') return { end: 'waiting', reason: end.reason ?? '' }
        else await port.move('blocked', `${end.outcome}: ${end.reason ?? ''}`)
        break
      }
      case 'merged':
        return { end: 'merged' }
      case 'failed':
      case 'blocked':
        return { end: 'held', reason: `${state}: ${reason ?? ''}` }
    }
  }
}
