/** Decisions about delegations: work for another agent in a conversation of its own, and its result. */
import { z } from 'zod'
import { IllegalState } from '../../errors.ts'
import { DelegationOutcome, type DelegationStarted } from '../events/delegation.ts'
import { Id } from '../events/id.ts'
import type { MessageAdded } from '../events/message.ts'
import { maxPending } from '../views/delegations.ts'
import { type Decision, openConversationIn } from './decision.ts'

export const NewDelegation = z.strictObject({
  from: Id,
  to: Id,
  task: z.string().min(1).max(100_000),
  /** Title of the new conversation. Default: the task's first words. */
  title: z.string().min(1).optional(),
})
export type NewDelegation = z.input<typeof NewDelegation>

export const DelegationResult = z.strictObject({
  outcome: DelegationOutcome.optional(),
  result: z.string().max(100_000),
})
export type DelegationResult = z.input<typeof DelegationResult>

/** Parent conversation: records the start and the message that the delegator reads. */
export function startDelegation(id: string, started: DelegationStarted, entry: MessageAdded): Decision {
  return heads => {
    const { info } = openConversationIn(heads, id)
    const pending = info.delegations?.pending.length ?? 0
    if (pending >= maxPending) {
      throw new IllegalState(
        `${pending} delegations are pending, the maximum. Nothing was written; wait for some, or abort some.`,
        {
          conversationId: id,
          pending,
        },
      )
    }
    return [started, entry]
  }
}

/** Child conversation: its first two events, unless it exists. */
export function beginDelegated(
  parent: { conversationId: string; threadId: string; phase: { phase?: string; phaseTimeoutMs?: number } },
  { delegationId, from, to, title }: DelegationStarted,
  task: MessageAdded,
): Decision {
  return heads => {
    if (heads.conversation) return []
    const { conversationId, threadId, phase } = parent
    return [
      {
        type: 'conversation.created',
        title,
        workItem: { type: 'thread', threadId },
        ...phase,
        delegated: { conversationId, delegationId, from, to },
      },
      task,
    ]
  }
}

/** Child conversation: records the outcome and completes it. Only the first outcome counts. */
export function returnDelegated(id: string, outcome: DelegationOutcome, result: string): Decision {
  return heads => {
    const delegated = heads.conversation?.info.delegated
    if (delegated?.outcome !== undefined) return []
    openConversationIn(heads, id)
    if (!delegated) throw new IllegalState(`Conversation ${id} was not delegated.`, { conversationId: id })
    const { delegationId } = delegated
    return [
      { type: 'delegation.returned', delegationId, outcome },
      { type: 'conversation.completed', summary: result },
    ]
  }
}

/** Parent conversation: records the outcome and the message that the delegator reads, once. */
export function endDelegation(
  id: string,
  ended: { delegationId: string; outcome: DelegationOutcome },
  entry: MessageAdded,
): Decision {
  return heads => {
    const { info } = openConversationIn(heads, id)
    if (!info.delegations?.pending.some(({ id }) => id === ended.delegationId)) return []
    return [{ type: 'delegation.ended', ...ended }, entry]
  }
}
