/**
 * One task, from wherever it stands to the base branch: dev, QA, merge, and back where QA or the checks say so.
 *
 * The state is the log's. What was done in this visit of a state is found there too, so whoever takes a task up after a
 * crash does nothing twice.
 */
import type { TaskState } from '../../log/events/work/work.ts'
import type { LandingState, RalphState, ReviewState } from '../../log/views/work/ralph.ts'
import { agentFor } from '../../log/views/work/state-transitions.ts'

interface TaskStanding {
  state: TaskState
  /** Version of the move into it. */
  since: number
  /** The newest of each, of whatever visit. */
  ralph?: RalphState | undefined
  review?: ReviewState | undefined
  landing?: LandingState | undefined
  /** Why it is in its state. */
  reason?: string | undefined
}

/** What the work on a task may ask of the rest of the product. */
export interface TaskDesk {
  standing(): Promise<TaskStanding>
  move(to: TaskState, reason?: string): Promise<void>
  /** A Ralph loop, or the rest of one. */
  develop(feedback: string | undefined): Promise<RalphState>
  /** The review of what is there now; undefined when none came about, with the reason. */
  review(): Promise<{ review: ReviewState } | { problem: string }>
  land(): Promise<LandingState>
}

export type TaskEnd =
  | { end: 'merged' }
  /** Failed or blocked: somebody must help. */
  | { end: 'held'; reason: string }
  /** It would go on, but a person must do something first. */
  | { end: 'waiting'; reason: string }
  | { end: 'stopped' }
  /** Another kind of agent goes on with it. */
  | { end: 'passed'; state: TaskState; reason?: string }

/** QA may send a task back this often before a person has to look at it. */
const usualReturns = 3

export async function workOnTask(
  desk: TaskDesk,
  {
    signal,
    mostReturns = usualReturns,
    as,
  }: {
    signal: AbortSignal
    mostReturns?: number
    /** Only as this kind of agent: ends where another kind is called for. */
    as?: string
  },
): Promise<TaskEnd> {
  for (;;) {
    if (signal.aborted) return { end: 'stopped' }
    const { state, since, ralph, review, landing, reason } = await desk.standing()
    const called = agentFor('task', state)
    if (as !== undefined && called !== undefined && called !== as)
      return { end: 'passed', state, ...(reason !== undefined && { reason }) }
    switch (state) {
      case 'planning':
        await desk.move('in_dev')
        break
      case 'in_dev': {
        const isOver = ralph && ralph.version > since && ralph.outcome !== undefined && ralph.outcome !== 'aborted'
        const feedback = review?.verdict === 'return' ? review.feedback : undefined
        const loop = isOver ? ralph : await desk.develop(feedback)
        if (loop.outcome === 'aborted') return { end: 'stopped' }
        if (loop.outcome === 'passed') await desk.move('dev_complete')
        else await desk.move('failed', `${loop.outcome}: ${loop.reason ?? ''}`)
        break
      }
      case 'dev_complete':
        await desk.move('in_qa')
        break
      case 'in_qa': {
        const given = review && review.version > since ? { review } : await desk.review()
        if (signal.aborted && !('review' in given)) return { end: 'stopped' }
        if (!('review' in given)) await desk.move('blocked', given.problem)
        else if (given.review.verdict === 'pass') await desk.move('qa_complete')
        else if (given.review.number % mostReturns === 0)
          await desk.move('blocked', `QA returned it ${given.review.number} times: ${given.review.feedback}`)
        else await desk.move('in_dev', given.review.feedback)
        break
      }
      case 'qa_complete':
        await desk.move('ready_for_merge')
        break
      case 'ready_for_merge': {
        const isLanded = landing?.outcome === 'landed' && landing.version > since
        const done = isLanded ? landing : await desk.land()
        if (done.outcome === 'landed') await desk.move('merged')
        else if (done.outcome === undefined) return { end: 'stopped' }
        else if (done.outcome === 'waiting') return { end: 'waiting', reason: done.reason ?? '' }
        else await desk.move('blocked', `${done.outcome}: ${done.reason ?? ''}`)
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
