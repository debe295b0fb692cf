/** Phases, turns, delegations, executions and questions as callers and the API see them. */
import { z } from 'zod'
import { DelegationOutcome } from '../../log/events/delegation.ts'
import { PhaseChanged } from '../../log/events/phase.ts'
import { CompletionRecorded, TurnOutcome, TurnStarted } from '../../log/events/turn.ts'
import { PhaseState } from '../../log/views/phase.ts'
import { QuestionState } from '../../log/views/questions.ts'

export const Completion = CompletionRecorded.omit({ type: true, turnId: true, print: true }).extend({
  message: z.string(),
  version: z.int(),
  /** ISO time. */
  at: z.string(),
})
export type Completion = z.infer<typeof Completion>

export const Turn = TurnStarted.omit({ type: true, turnId: true, movedFrom: true })
  .extend({
    id: z.string(),
    /** Version of its start. */
    version: z.int(),
    /** ISO time. */
    startedAt: z.string(),
    status: z.enum(['open', ...TurnOutcome.options, 'undone']),
    completions: z.array(Completion),
    /** Agents that have not completed. */
    missing: z.array(z.string()),
    /** Reason of a failure or an undo. */
    endReason: z.string().optional(),
  })
  .meta({ id: 'Turn' })
export type Turn = z.infer<typeof Turn>

/** A routing decision in the words of TENEX. */
export const RoutingEntry = z.object({
  phase: z.string().optional(),
  agents: z.array(z.string()),
  reason: z.string(),
  timestamp: z.string(),
  completions: z.array(
    z.object({ agent: z.string(), message: z.string(), timestamp: z.string(), failed: z.literal(true).optional() }),
  ),
  /** Absent on the current one. */
  outcome: TurnOutcome.optional(),
})
export type RoutingEntry = z.infer<typeof RoutingEntry>

export const OrchestratorRoutingContext = z
  .object({
    user_request: z.string(),
    routing_history: z.array(RoutingEntry),
    current_routing: RoutingEntry.nullable(),
  })
  .meta({ id: 'RoutingContext' })
export type OrchestratorRoutingContext = z.infer<typeof OrchestratorRoutingContext>

export const Delegation = z
  .object({
    id: z.string(),
    /** The conversation the work is done in. */
    conversationId: z.string(),
    parentId: z.string(),
    from: z.string(),
    to: z.string(),
    task: z.string(),
    status: z.enum(['pending', ...DelegationOutcome.options]),
    /** ISO time. */
    startedAt: z.string(),
    result: z.string().optional(),
  })
  .meta({ id: 'Delegation' })
export type Delegation = z.infer<typeof Delegation>

/** The current phase, with the newest hand-over. */
export const CurrentPhase = PhaseState.omit({ version: true })
  .partial()
  .extend({
    /** Null where the project has no phases. */
    phase: z.string().nullable(),
    /** The phases that may follow. */
    legal: z.array(z.string()).readonly(),
  })
  .meta({ id: 'CurrentPhase' })
export type CurrentPhase = z.infer<typeof CurrentPhase>

export const PhaseChange = PhaseChanged.omit({ type: true, previous: true })
  .extend({
    version: z.int(),
    /** ISO time. */
    at: z.string(),
    actor: z.string(),
  })
  .meta({ id: 'PhaseChange' })
export type PhaseChange = z.infer<typeof PhaseChange>

export const Execution = z.object({
  executionId: z.string(),
  agent: z.string(),
  /** ISO time. */
  startedAt: z.string(),
})
export type Execution = z.infer<typeof Execution>

export const ExecutionTime = z
  .object({
    /** Time of all agents, until now for those at work. Two at once count twice. */
    totalMs: z.number(),
    agents: z.record(z.string(), z.number()),
    isActive: z.boolean(),
    running: z.array(Execution),
  })
  .meta({ id: 'ExecutionTime' })
export type ExecutionTime = z.infer<typeof ExecutionTime>

export const Question = QuestionState.extend({ conversationId: z.string(), title: z.string() })
export type Question = z.infer<typeof Question>
