/**
 * A Ralph loop: a developer works on a task in a fresh request per iteration, and after each the checks of the project
 * say how far it is. It ends when all of them pass, or for one of the other reasons, each told apart.
 *
 * All it knows is in the log: an iteration that has ended is a fact, its work is a commit, and what is not recorded yet is
 * done by the next one to take the loop up, from where it was cut off.
 */
import type { CheckResult, IterationEnded, RalphOutcome } from '../../log/events/work/ralph.ts'
import type { RalphState } from '../../log/views/work/ralph.ts'
import type { RunResult } from '../runs/run.ts'
import { type RalphTask, ralphMessage } from './ralph-message.ts'

/** What a loop may ask of the rest of the product. Everything it records is recorded once, however often it is said. */
export interface RalphDesk {
  readonly task: RalphTask
  /** The loop as the log has it. */
  state(): Promise<RalphState>
  attempts(versions: readonly number[]): Promise<IterationEnded[]>
  /** Runs the developer on a message, in an empty window; a run that was cut off goes on. */
  run(number: number, message: string): Promise<RunResult>
  /** Commits what the iteration changed. */
  commit(number: number, said: string): Promise<{ commit: string; tree: string }>
  check(): Promise<CheckResult[]>
  iterationEnded(ended: Omit<IterationEnded, 'type' | 'sessionId' | 'loopId'>): Promise<RalphState>
  ended(outcome: RalphOutcome, reason: string | undefined): Promise<RalphState>
  /** Milliseconds; for how long it took. */
  now(): number
}

export async function ralphLoop(desk: RalphDesk, signal: AbortSignal): Promise<RalphState> {
  let state = await desk.state()
  while (state.outcome === undefined) {
    const end = endOf(state, signal)
    if (end) return desk.ended(end.outcome, end.reason)
    const number = state.iteration + 1
    const startedAt = desk.now()
    const message = ralphMessage({
      task: desk.task,
      number,
      limit: state.limits.iterations,
      checks: state.checks,
      feedback: state.feedback,
      attempts: await desk.attempts(state.attempts),
    })
    const result = await desk.run(number, message)
    // What it has written by then stays in the working folder, for when the loop goes on.
    if (signal.aborted) return desk.ended('aborted', 'it was stopped')
    const broken = brokenBy(result)
    if (broken !== undefined) return desk.ended('error', broken)
    const { commit, tree } = await desk.commit(number, result.text)
    const checks = await desk.check()
    if (signal.aborted) return desk.ended('aborted', 'it was stopped')
    state = await desk.iterationEnded({
      number,
      runId: result.runId,
      outcome: result.outcome,
      said: (result.completed ?? result.text).slice(0, saidCharacters).toWellFormed(),
      commit,
      tree,
      checks,
      ...(result.steps > 0 && { usage: result.usage }),
      durationMs: Math.max(0, desk.now() - startedAt),
    })
  }
  return state
}

const saidCharacters = 4_000

/** Whether it is over, by what the log says; the best reason first. */
function endOf(state: RalphState, signal: AbortSignal): { outcome: RalphOutcome; reason?: string } | undefined {
  const { iteration, failed, passed, checks, limits, usage, unchanged } = state
  if (iteration > 0 && failed.length === 0 && passed.length === checks.length) return { outcome: 'passed' }
  if (signal.aborted) return { outcome: 'aborted', reason: 'it was stopped' }
  const still = `still failing: ${failed.join(', ')}`
  // The first of them is the one that the others are like.
  if (unchanged > limits.unchanged)
    return { outcome: 'no_progress', reason: `${limits.unchanged} iterations changed nothing; ${still}` }
  const tokens = usage.input + usage.output
  if (limits.tokens !== null && tokens >= limits.tokens)
    return { outcome: 'token_limit', reason: `${tokens} of ${limits.tokens} tokens are used; ${still}` }
  if (iteration >= limits.iterations)
    return { outcome: 'iteration_limit', reason: `${iteration} iterations are over; ${still}` }
  return undefined
}

/** A model that cannot be asked would not be better in the next iteration; one that took too many steps may be. */
function brokenBy({ outcome, reason = '', failure }: RunResult): string | undefined {
  if (outcome === 'superseded') return `another run took its place: ${reason}`
  if (outcome === 'cancelled') return `the run was cancelled: ${reason}`
  return outcome === 'failed' && failure ? reason : undefined
}
