/** Facts about work handed to another agent in a conversation of its own. */
import { z } from 'zod'
import { Id } from './id.ts'

export const DelegationOutcome = z.enum(['completed', 'failed', 'aborted'])
export type DelegationOutcome = z.infer<typeof DelegationOutcome>

/** Where a delegated conversation comes from; stands in the child's `conversation.created`. */
export const Delegated = z.object({ conversationId: Id, delegationId: Id, from: Id, to: Id })
export type Delegated = z.infer<typeof Delegated>

/**
 * In the parent; the message right after it tells the delegator, with the task. The two are all that is needed to make
 * the child, so that a crash in between can be made good.
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

/** In the child: how it ended; its summary is the result. The child's word is the truth. */
export const DelegationReturned = z.object({
  type: z.literal('delegation.returned'),
  delegationId: Id,
  outcome: DelegationOutcome,
})
export type DelegationReturned = z.infer<typeof DelegationReturned>

/** In the parent, once; the message right after it tells the delegator, with the result. */
export const DelegationEnded = z.object({
  type: z.literal('delegation.ended'),
  delegationId: Id,
  outcome: DelegationOutcome,
})
export type DelegationEnded = z.infer<typeof DelegationEnded>
