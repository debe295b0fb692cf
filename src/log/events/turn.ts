/** Facts about an orchestrator's turns: the route, the completions, the outcome. */
import { z } from 'zod'
import { Id } from './id.ts'

/** Text of a completion or of a turn's reason: enough for a report, bounded for the routing context. */
export const TurnText = z.string().max(20_000)

export const TurnStarted = z.object({
  type: z.literal('turn.started'),
  turnId: Id,
  /** 1, 2, 3 … within the conversation. */
  number: z.int().positive(),
  orchestrator: Id,
  agents: z.array(Id).min(1).max(64),
  phase: Id.optional(),
  /** The phase that the turn itself left. */
  movedFrom: Id.optional(),
  reason: TurnText,
  /** Instructions for the agents, where they say more than the reason. */
  instruction: TurnText.optional(),
  /** Version of the person's newest message at the decision. */
  request: z.int().positive().optional(),
  /** ISO time after which the turn stops waiting. */
  dueAt: z.string().optional(),
})
export type TurnStarted = z.infer<typeof TurnStarted>

/** A routed agent finished, successfully or not. Once per agent and turn. */
export const CompletionRecorded = z.object({
  type: z.literal('completion.recorded'),
  turnId: Id,
  agent: Id,
  outcome: z.enum(['completed', 'failed']),
  /** The report; absent when a message holds it, so that erasing the message leaves no copy. */
  message: TurnText.optional(),
  /** Version of the message with the `complete` call. */
  found: z.int().positive().optional(),
  /** Sketch of the message's text, for comparison with others. */
  print: z.string().optional(),
})
export type CompletionRecorded = z.infer<typeof CompletionRecorded>

export const TurnOutcome = z.enum(['completed', 'failed', 'timed-out'])
export type TurnOutcome = z.infer<typeof TurnOutcome>

const Closing = {
  turnId: Id,
  /** Version of `turn.started`. */
  started: z.int().positive(),
  /** Versions of the completions. */
  completions: z.array(z.int().positive()),
  /** Version of the event that closed the previous turn, so that history can be read turn by turn. */
  previous: z.int().positive().optional(),
}

export const TurnResolved = z.object({
  ...Closing,
  type: z.literal('turn.resolved'),
  outcome: TurnOutcome,
  /** Agents without a completion. */
  missing: z.array(Id),
  reason: TurnText.optional(),
})
export type TurnResolved = z.infer<typeof TurnResolved>

/** The routing decision was taken back and is no longer part of the routing history. */
export const TurnUndone = z.object({
  ...Closing,
  type: z.literal('turn.undone'),
  reason: TurnText.optional(),
})
export type TurnUndone = z.infer<typeof TurnUndone>
