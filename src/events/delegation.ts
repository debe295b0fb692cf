/** Facts about work handed to another agent in a conversation of its own. */
import { z } from 'zod'
import { Id } from './id.ts'

export const DelegationOutcome = z.enum(['completed', 'failed', 'aborted'])
export type DelegationOutcome = z.infer<typeof DelegationOutcome>

/** Where a delegated conversation comes from; stands in the child's `conversation.created`. */
export const Delegated = z.object({ conversationId: Id, delegationId: Id, from: Id, to: Id })
export type Delegated = z.infer<typeof Delegated>

const Text = z.string().min(1).max(100_000)

/** In the parent. All that is needed to make the child is here, so that a crash in between can be made good. */
export const DelegationStarted = z.object({
  type: z.literal('delegation.started'),
  delegationId: Id,
  childId: Id,
  from: Id,
  to: Id,
  title: z.string(),
  task: Text,
})
export type DelegationStarted = z.infer<typeof DelegationStarted>

/** In the child: how it ended. The child's word is the truth. */
export const DelegationReturned = z.object({
  type: z.literal('delegation.returned'),
  delegationId: Id,
  outcome: DelegationOutcome,
  result: z.string().max(100_000),
})
export type DelegationReturned = z.infer<typeof DelegationReturned>

/** In the parent: what the child said, once. */
export const DelegationEnded = z.object({
  type: z.literal('delegation.ended'),
  delegationId: Id,
  outcome: DelegationOutcome,
  result: z.string().max(100_000),
})
export type DelegationEnded = z.infer<typeof DelegationEnded>
