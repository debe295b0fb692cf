/** Facts about an orchestrator's turns: whom it routed to, what came back, how it ended. */
import { z } from 'zod'
import { Id } from './id.ts'

/** What a completion says, and why a turn was started: long enough for a report, short enough for a routing context. */
export const TurnText = z.string().max(20_000)

export const TurnStarted = z.object({
  type: z.literal('turn.started'),
  turnId: Id,
  /** 1, 2, 3 … within the conversation. */
  number: z.int().positive(),
  orchestrator: Id,
  agents: z.array(Id).min(1).max(64),
  phase: Id.optional(),
  /** The phase the turn itself moved the conversation out of. */
  movedFrom: Id.optional(),
  reason: TurnText,
  /** What the agents are asked to do, where it says more than the reason. */
  instruction: TurnText.optional(),
  /** Version of the person's newest message when it was decided. */
  request: z.int().positive().optional(),
  /** ISO time after which the turn no longer waits. */
  dueAt: z.string().optional(),
})
export type TurnStarted = z.infer<typeof TurnStarted>

/** An agent that was routed to is done, well or badly. Once per agent and turn. */
export const CompletionRecorded = z.object({
  type: z.literal('completion.recorded'),
  turnId: Id,
  agent: Id,
  outcome: z.enum(['completed', 'failed']),
  /** What it said; absent when a message says it: erasing that message must leave no copy. */
  message: TurnText.optional(),
  /** Version of the message whose `complete` call said so. */
  found: z.int().positive().optional(),
  /** Print of what the message said, to compare it with others. */
  print: z.string().optional(),
})
export type CompletionRecorded = z.infer<typeof CompletionRecorded>

export const TurnOutcome = z.enum(['completed', 'failed', 'timed-out'])
export type TurnOutcome = z.infer<typeof TurnOutcome>

const Closing = {
  turnId: Id,
  /** Version of the `turn.started`. */
  started: z.int().positive(),
  /** Versions of the completions. */
  completions: z.array(z.int().positive()),
  /** Version of the event that closed the turn before, so that history is read turn by turn. */
  previous: z.int().positive().optional(),
}

export const TurnResolved = z.object({
  ...Closing,
  type: z.literal('turn.resolved'),
  outcome: TurnOutcome,
  /** Agents that did not complete. */
  missing: z.array(Id),
  reason: TurnText.optional(),
})
export type TurnResolved = z.infer<typeof TurnResolved>

/** The routing decision was taken back: open or resolved, it is no part of the routing history. */
export const TurnUndone = z.object({
  ...Closing,
  type: z.literal('turn.undone'),
  reason: TurnText.optional(),
})
export type TurnUndone = z.infer<typeof TurnUndone>
