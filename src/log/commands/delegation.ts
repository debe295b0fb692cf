/** Work goes to another agent in a conversation of its own, and comes back. */
import { z } from 'zod'
import { IllegalState } from '../../errors.ts'
import { DelegationOutcome, type DelegationStarted } from '../events/delegation.ts'
import type { ConversationEvent } from '../events/event.ts'
import { Id } from '../events/id.ts'
import type { MessageAdded } from '../events/message.ts'
import { mostPending } from '../views/delegations.ts'
import { type Decision, openConversationIn } from './decision.ts'

export const NewDelegation = z.strictObject({
  from: Id,
  to: Id,
  task: z.string().min(1).max(100_000),
  /** Of the conversation that is made for it. Default: the task's first words. */
  title: z.string().min(1).optional(),
})
export type NewDelegation = z.input<typeof NewDelegation>

export const DelegationResult = z.strictObject({
  outcome: DelegationOutcome.optional(),
  result: z.string().max(100_000),
})
export type DelegationResult = z.input<typeof DelegationResult>

/** In the parent: the fact, and what the delegator reads about it. */
export function startDelegation(id: string, started: DelegationStarted, entry: MessageAdded): Decision {
  return heads => {
    const { info } = openConversationIn(heads, id)
    const pending = info.delegations?.pending.length ?? 0
    if (pending >= mostPending) {
      throw new IllegalState(`${pending} delegations are pending; wait for some, or abort some.`, {
        conversationId: id,
        pending,
      })
    }
    return [started, entry]
  }
}

/** In the child: its first two facts. Nothing, if it is there already. */
export function beginDelegated(
  parent: { conversationId: string; threadId: string; phase: { phase?: string; phaseTimeoutMs?: number } },
  { delegationId, from, to, title }: DelegationStarted,
  task: MessageAdded,
): Decision {
  return heads => {
    if (heads.conversation) return []
    const { conversationId, threadId, phase } = parent
    const events: ConversationEvent[] = [
      {
        type: 'conversation.created',
        title,
        workItem: { type: 'thread', threadId },
        ...phase,
        delegated: { conversationId, delegationId, from, to },
      },
      task,
    ]
    return events
  }
}

/** In the child: how it ended, and that it is over. The first word stands. */
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

/** In the parent: what the child said, and what the delegator reads about it. Nothing, if that is known already. */
export function endDelegation(
  id: string,
  ended: { delegationId: string; outcome: DelegationOutcome },
  entry: MessageAdded,
): Decision {
  return heads => {
    const { info } = openConversationIn(heads, id)
    if (!info.delegations?.pending.some(one => one.id === ended.delegationId)) return []
    return [{ type: 'delegation.ended', ...ended }, entry]
  }
}
