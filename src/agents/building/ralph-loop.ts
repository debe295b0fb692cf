/**
 * A Ralph loop: a developer works on a task in iterations, each with a fresh request, and the project's checks run after
 * each. It ends when all checks pass, or for another recorded reason.
 *
 * Its state is the log: an ended iteration is an event, its work a commit. After a crash the next process resumes the loop
 * at the first step that is not recorded.
 */
import type { CheckResult, IterationEnded, RalphOutcome } from '../../log/events/work/ralph.ts'
import type { RalphState } from '../../log/views/work/ralph.ts'
import type { RunResult } from '../runs/run.ts'
import { type RalphTask, ralphMessage } from './ralph-message.ts'

/** The port of a loop to log, agents and git. Each write is idempotent. */
export interface RalphPort {
  readonly task: RalphTask
  /** Reads the state of the loop from the log. */
  state(): Promise<RalphState>
  attempts(versions: readonly number[]): Promise<IterationEnded[]>
  /** Runs the developer on a message in an empty window, or resumes a crashed run. */
  run(number: number, message: string): Promise<RunResult>
  /** Commits the changes of the iteration. */
  commit(number: number): Promise<{ commit: string; tree: string }>
  check(): Promise<CheckResult[]>
  iterationEnded(ended: Omit<IterationEnded, 'type' | 'sessionId' | 'loopId'>): Promise<RalphState>
  ended(outcome: RalphOutcome, reason: string | undefined): Promise<RalphState>
  /** Time in milliseconds. */
  now(): number
}

export async function ralphLoop(port: RalphPort, signal: AbortSignal): Promise<RalphState> {
  let state = await port.state()
  while (state.outcome === undefined) {
    const end = endOf(state, signal)
    if (end) return port.ended(end.outcome, end.reason)
    const number = state.iteration + 1
    const startedAt = port.now()
    const message = ralphMessage({
      task: port.task,
      number,
      limit: state.limits.iterations,
      checks: state.checks,
      feedback: state.feedback,
      attempts: await port.attempts(state.attempts),
    })
    const result = await port.run(number, message)
    // Uncommitted files stay in the worktree for the resumed loop.
    if (signal.aborted) return port.ended('aborted', 'it was stopped')
    const error = errorOf(result)
    if (error !== undefined) return port.ended('error', error)
    const { commit, tree } = await port.commit(number)
    const checks = await port.check()
    if (signal.aborted) return port.ended('aborted', 'it was stopped')
    state = await port.iterationEnded({
      number,
      runId: result.runId,
      outcome: result.outcome,
      said: (result.completed ?? result.text).slice(0, maxAnswerCharacters).toWellFormed(),
      commit,
      tree,
      checks,
      ...(result.steps > 0 && { usage: result.usage }),
      durationMs: Math.max(0, port.now() - startedAt),
    })
  }
  return state
}

const maxAnswerCharacters = 4_000

/** Returns the outcome of a loop that is over, by its state in the log. */
function endOf(state: RalphState, signal: AbortSignal): { outcome: RalphOutcome; reason?: string } | undefined {
  const { iteration, failed, passed, checks, limits, usage, unchanged } = state
  if (iteration > 0 && failed.length === 0 && passed.length === checks.length) return { outcome: 'passed' }
  if (signal.aborted) return { outcome: 'aborted', reason: 'it was stopped' }
  const failing = `still failing: ${failed.join(', ')}`
  // Iterations are unchanged compared to one before them, which does not count.
  if (unchanged > limits.unchanged)
    return { outcome: 'no_progress', reason: `${limits.unchanged} iterations changed nothing; ${failing}` }
  const tokens = usage.input + usage.output
  if (limits.tokens !== null && tokens >= limits.tokens)
    return { outcome: 'token_limit', reason: `${tokens} of ${limits.tokens} tokens are used; ${failing}` }
  if (iteration >= limits.iterations)
    return { outcome: 'iteration_limit', reason: `${iteration} iterations are over; ${failing}` }
  return undefined
}

/** Returns the reason to end the loop. A failing model ends it; a run with too many steps does not. */
function errorOf({ outcome, reason = '', failure }: RunResult): string | undefined {
  if (outcome === 'superseded') return `another run took its place: ${reason}`
  if (outcome === 'cancelled') return `the run was cancelled: ${reason}`
  return outcome === 'failed' && failure ? reason : undefined
}
