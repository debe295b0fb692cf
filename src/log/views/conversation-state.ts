/** The state of a conversation in its head: phase, turns, delegations, files read, references, time at work, work item. */
import type { RecordedEvent } from '../events/recorded-event.ts'
import { type DelegatedState, type DelegationsState, evolveDelegated, evolveDelegations } from './delegations.ts'
import { type ExecutionState, evolveExecution } from './execution-time.ts'
import { evolvePhase, type PhaseState, phaseDueAt } from './phase.ts'
import { evolveQuestions, type QuestionsState, questionsDueAt } from './questions.ts'
import { evolveReadFiles, type ReadFiles } from './read-files.ts'
import { evolveReferences, type References } from './references.ts'
import { evolveRuns, type RunsState } from './runs.ts'
import { evolveTurns, type TurnsState } from './turns.ts'
import { type DispatchesState, evolveDispatches } from './work/dispatches.ts'
import {
  evolveLanding,
  evolveRalph,
  evolveReview,
  type LandingState,
  type RalphState,
  type ReviewState,
} from './work/ralph.ts'
import { evolveWork, type WorkState } from './work/work.ts'

export interface ConversationState {
  /** The phase's name. */
  phase?: string
  phaseState?: PhaseState
  turns?: TurnsState
  delegations?: DelegationsState
  delegated?: DelegatedState
  readFiles?: ReadFiles
  references?: References
  execution?: ExecutionState
  runs?: RunsState
  questions?: QuestionsState
  /** For a task: its Ralph loop, newest review and landing. */
  ralph?: RalphState
  review?: ReviewState
  landing?: LandingState
  /** For a described work item: its state and, for a feature, the task graph. */
  work?: WorkState
  /** For a dispatched work item: count, agents, and the guard that stops it. */
  dispatches?: DispatchesState
}

const folds = {
  phase: (phase: string | undefined, { event }: RecordedEvent) =>
    event.type === 'phase.changed' ? event.to : event.type === 'conversation.created' ? (event.phase ?? phase) : phase,
  phaseState: evolvePhase,
  turns: evolveTurns,
  delegations: evolveDelegations,
  delegated: evolveDelegated,
  readFiles: evolveReadFiles,
  references: evolveReferences,
  execution: evolveExecution,
  runs: evolveRuns,
  questions: evolveQuestions,
  ralph: evolveRalph,
  review: evolveReview,
  landing: evolveLanding,
  work: evolveWork,
  dispatches: evolveDispatches,
} satisfies {
  [K in keyof ConversationState]-?: (
    state: ConversationState[K],
    recorded: RecordedEvent,
  ) => ConversationState[K] | undefined
}

const stateEvents: ReadonlySet<string> = new Set([
  'conversation.created',
  'phase.changed',
  'phase.stuck',
  'turn.started',
  'completion.recorded',
  'turn.resolved',
  'turn.undone',
  'loop.detected',
  'loop.cleared',
  'delegation.started',
  'delegation.returned',
  'delegation.ended',
  'file.read',
  'reference.resolved',
  'execution.started',
  'execution.stopped',
  'run.started',
  'run.ended',
  'question.asked',
  'question.answered',
  'question.taken',
  'ralph.started',
  'iteration.ended',
  'ralph.ended',
  'review.given',
  'landing.started',
  'conflicts.found',
  'landing.ended',
  'feature.described',
  'tasks.planned',
  'work.described',
  'work.moved',
  'work.reported',
  'work.attempted',
  'worktree.created',
  'worktree.removed',
  'dispatch.started',
  'dispatch.ended',
  'guard.tripped',
  'guard.cleared',
])

/** Returns the same object when the event does not change the state. */
export function evolveState<T extends ConversationState>(state: T, recorded: RecordedEvent): T {
  // Most events are messages; for them this is a single set look-up.
  if (!stateEvents.has(recorded.event.type)) return state
  let next: T | undefined
  for (const [name, fold] of Object.entries(folds) as Array<
    [keyof ConversationState, (old: unknown, event: RecordedEvent) => unknown]
  >) {
    const value = fold(state[name], recorded)
    if (value === state[name]) continue
    next ??= { ...state }
    if (value === undefined) delete next[name]
    else Object.assign(next, { [name]: value })
  }
  return next ?? state
}

/** Interval for checking open delegations, executions and runs. */
const checkEveryMs = 60_000

/**
 * Returns when the conversation next needs attention: a time-out, a delegation to settle, or an execution or run that
 * may have crashed. A completed or archived conversation only has executions and runs to check.
 */
export function stateDueAt(state: ConversationState & { status: string }): number | undefined {
  const { status, phaseState, turns, delegations, execution, runs, questions } = state
  const oldest = [execution?.running[0], runs?.open[0]].filter(activity => activity !== undefined)
  const due = oldest.map(({ startedAt }) => Date.parse(startedAt) + checkEveryMs)
  if (status === 'active') {
    const phase = phaseDueAt(phaseState)
    if (phase !== undefined) due.push(phase)
    if (turns?.open?.dueAt !== undefined) due.push(Date.parse(turns.open.dueAt))
    const answer = questionsDueAt(questions)
    if (answer !== undefined) due.push(answer)
    if (delegations?.pending[0]) due.push(Date.parse(delegations.pending[0].startedAt) + checkEveryMs)
  }
  return due.length === 0 ? undefined : Math.min(...due)
}
