/**
 * Facts about giving work to agents: that an item was given to one, how that ended, that a guard stopped it, and that a
 * person let it go on. What came of the work itself are facts about work.
 */
import { z } from 'zod'
import { Id } from '../id.ts'
import { WorkItem } from '../work-item.ts'

export const DispatchStarted = z.object({
  type: z.literal('dispatch.started'),
  item: WorkItem,
  dispatchId: Id,
  agent: Id,
  /** The state the item was in. */
  state: z.string(),
  /** Which process has it. */
  node: Id,
})
export type DispatchStarted = z.infer<typeof DispatchStarted>

/**
 * `continues`: it went well, and there is more to do. `stopped`: whoever dispatches was told to stop. `crashed`: nobody
 * ended it; its lease had run out when the next one took the item.
 */
export const DispatchOutcome = z.enum(['done', 'continues', 'failed', 'parked', 'stopped', 'crashed'])
export type DispatchOutcome = z.infer<typeof DispatchOutcome>

export const DispatchEnded = z.object({
  type: z.literal('dispatch.ended'),
  item: WorkItem,
  dispatchId: Id,
  agent: Id,
  outcome: DispatchOutcome,
  /** Print of what the agent said, to compare it with others. */
  print: z.string().optional(),
  /** Whom the agent handed it on to, and with which words. */
  next: z.object({ agent: Id, message: z.string().max(20_000) }).optional(),
})
export type DispatchEnded = z.infer<typeof DispatchEnded>

export const GuardKind = z.enum(['hop-limit', 'alternation', 'no-progress', 'failures', 'crashes'])
export type GuardKind = z.infer<typeof GuardKind>

/** The item is given to nobody from here on, until a person says so. */
export const GuardTripped = z.object({
  type: z.literal('guard.tripped'),
  item: WorkItem,
  kind: GuardKind,
  /** In words. */
  finding: z.string(),
  /** Versions of the dispatches it was seen in. */
  evidence: z.array(z.int().positive()),
})
export type GuardTripped = z.infer<typeof GuardTripped>

/** A person lets it go on: dispatches up to here are no evidence any more. */
export const GuardCleared = z.object({
  type: z.literal('guard.cleared'),
  item: WorkItem,
  reason: z.string().max(20_000).optional(),
})
export type GuardCleared = z.infer<typeof GuardCleared>
