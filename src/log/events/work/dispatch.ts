/**
 * Facts about dispatching work to agents: start, end, a guard that stopped it, a person's release. Results of the work
 * are facts about work.
 */
import { z } from 'zod'
import { Id } from '../id.ts'
import { WorkItem } from '../work-item.ts'

export const DispatchStarted = z.object({
  type: z.literal('dispatch.started'),
  item: WorkItem,
  dispatchId: Id,
  agent: Id,
  /** State of the item. */
  state: z.string(),
  /** The process that has it. */
  node: Id,
})
export type DispatchStarted = z.infer<typeof DispatchStarted>

/**
 * `continues`: successful, with more to do. `stopped`: the dispatcher was told to stop. `crashed`: the process died;
 * its lease had run out when another one took the item.
 */
export const DispatchOutcome = z.enum(['done', 'continues', 'failed', 'parked', 'stopped', 'crashed'])
export type DispatchOutcome = z.infer<typeof DispatchOutcome>

export const DispatchEnded = z.object({
  type: z.literal('dispatch.ended'),
  item: WorkItem,
  dispatchId: Id,
  agent: Id,
  outcome: DispatchOutcome,
  /** Sketch of the agent's text, for comparison with others. */
  print: z.string().optional(),
  /** The agent it was handed to, and the message. */
  next: z.object({ agent: Id, message: z.string().max(20_000) }).optional(),
})
export type DispatchEnded = z.infer<typeof DispatchEnded>

export const GuardKind = z.enum(['hop-limit', 'alternation', 'no-progress', 'failures', 'crashes'])
export type GuardKind = z.infer<typeof GuardKind>

/** The item is not dispatched again until a person clears the guard. */
export const GuardTripped = z.object({
  type: z.literal('guard.tripped'),
  item: WorkItem,
  kind: GuardKind,
  /** Description in words. */
  finding: z.string(),
  /** Versions of the dispatches that show it. */
  evidence: z.array(z.int().positive()),
})
export type GuardTripped = z.infer<typeof GuardTripped>

/** A person released the item: earlier dispatches no longer count as evidence. */
export const GuardCleared = z.object({
  type: z.literal('guard.cleared'),
  item: WorkItem,
  reason: z.string().max(20_000).optional(),
})
export type GuardCleared = z.infer<typeof GuardCleared>
