/** Facts about work handed to another agent in a conversation of its own. */
import { z } from 'zod'
import { Id } from './id.ts'

export const DelegationOutcome = z.enum(['completed', 'failed', 'aborted'])
export type DelegationOutcome = z.infer<typeof DelegationOutcome>

/** Origin of a delegated conversation; part of the child's `conversation.created`. */
export const Delegated = z.object({ conversationId: Id, delegationId: Id, from: Id, to: Id })
export type Delegated = z.infer<typeof Delegated>

/**
 * Recorded in the parent. The next message tells the delegator, with the task. Both suffice to create the child, so
 * that a crash in between can be repaired.
 */
export const DelegationStarted = z.object({
  type: z.literal('delegation.started'),
  delegationId: Id,
  childId: Id,
  from: Id,
  to: Id,
  title: z.string(),
})
export type DelegationStarted = z.infer<typeof DelegationStarted>

/** Recorded in the child: its outcome, with the result as summary. The child's record is authoritative. */
export const DelegationReturned = z.object({
  type: z.literal('delegation.returned'),
  delegationId: Id,
  outcome: DelegationOutcome,
})
export type DelegationReturned = z.infer<typeof DelegationReturned>

/** Recorded in the parent, once. The next message tells the delegator the result. */
export const DelegationEnded = z.object({
  type: z.literal('delegation.ended'),
  delegationId: Id,
  outcome: DelegationOutcome,
})
export type DelegationEnded = z.infer<typeof DelegationEnded>
