/** State of a task's Ralph loop, its last review and its landing. Folded from the task's log. */

import type { Usage } from '../../events/message.ts'
import type { RecordedEvent } from '../../events/recorded-event.ts'
import type { LandingOutcome } from '../../events/work/landing.ts'
import type { RalphLimits, RalphOutcome } from '../../events/work/ralph.ts'
import type { Verdict } from '../../events/work/review.ts'
import { addUsage } from '../runs.ts'

export interface RalphState {
  id: string
  sessionId: string
  agent: string
  /** Version of its start. */
  version: number
  round: number
  checks: readonly string[]
  limits: RalphLimits
  feedback?: string
  /** Number of ended iterations. */
  iteration: number
  passed: readonly string[]
  failed: readonly string[]
  /** The end of the first failing check's output. */
  lastError?: string
  /** Consecutive newest iterations that left files and failing checks unchanged. */
  unchanged: number
  tree?: string
  commit?: string
  usage: Usage
  /** Versions of the newest iterations, oldest first. */
  attempts: readonly number[]
  /** Absent while it is running. */
  outcome?: RalphOutcome
  reason?: string
}

export interface ReviewState {
  number: number
  verdict: Verdict
  feedback: string
  commit: string
  version: number
}

export interface LandingState {
  branch: string
  tip: string
  base: string
  /** Version of its start. */
  version: number
  conflicts?: readonly string[]
  outcome?: LandingOutcome
  commit?: string
  reason?: string
}

/** Characters of an error carried in the head; the iteration has all of it. */
const errorCharacters = 2_000
const rememberedAttempts = 3

export function evolveRalph(state: RalphState | undefined, recorded: RecordedEvent): RalphState | undefined {
  const { event, version } = recorded
  if (event.type === 'ralph.started') {
    const { loopId: id, sessionId, agent, round, checks, limits, feedback } = event
    return {
      id,
      sessionId,
      agent,
      version,
      round,
      checks,
      limits,
      ...(feedback !== undefined && { feedback }),
      iteration: 0,
      passed: [],
      failed: [],
      unchanged: 0,
      usage: { input: 0, output: 0 },
      attempts: [],
    }
  }
  if (!state || !('loopId' in event) || event.loopId !== state.id) return state
  if (event.type === 'iteration.ended') {
    const passed = event.checks.filter(check => check.passed).map(({ name }) => name)
    const failing = event.checks.filter(check => !check.passed)
    const failed = failing.map(({ name }) => name)
    const isSame = event.tree === state.tree && failed.join('\n') === state.failed.join('\n')
    const { lastError: _, ...rest } = state
    return {
      ...rest,
      iteration: event.number,
      passed,
      failed,
      ...(failing[0] && { lastError: failing[0].output.slice(-errorCharacters).toWellFormed() }),
      unchanged: isSame ? state.unchanged + 1 : 1,
      tree: event.tree,
      commit: event.commit,
      usage: addUsage(state.usage, event.usage),
      attempts: [...state.attempts, version].slice(-rememberedAttempts),
    }
  }
  if (event.type === 'ralph.ended') {
    return { ...state, outcome: event.outcome, ...(event.reason !== undefined && { reason: event.reason }) }
  }
  return state
}

export function evolveReview(state: ReviewState | undefined, { event, version }: RecordedEvent) {
  if (event.type !== 'review.given') return state
  const { number, verdict, feedback, commit } = event
  return { number, verdict, feedback, commit, version }
}

export function evolveLanding(
  state: LandingState | undefined,
  { event, version }: RecordedEvent,
): LandingState | undefined {
  switch (event.type) {
    case 'landing.started': {
      const { branch, tip, base } = event
      return { branch, tip, base, version }
    }
    case 'conflicts.found':
      return state && { ...state, conflicts: event.files }
    case 'landing.ended': {
      const { outcome, commit, reason } = event
      return (
        state && { ...state, outcome, ...(commit !== undefined && { commit }), ...(reason !== undefined && { reason }) }
      )
    }
    default:
      return state
  }
}
