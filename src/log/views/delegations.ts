/** Delegations made by a conversation, and the origin of a delegated one. Folded from its log. */
import type { Delegated, DelegationOutcome } from '../events/delegation.ts'
import type { RecordedEvent } from '../events/recorded-event.ts'

export interface DelegationState {
  id: string
  childId: string
  from: string
  to: string
  status: 'pending' | DelegationOutcome
  /** Version of its start; the next message has the task. */
  version: number
  /** ISO time. */
  startedAt: string
  /** Version of its end; the next message has the result. */
  endedAt?: number
}

export interface DelegationsState {
  /** Number of delegations so far. */
  count: number
  pending: readonly DelegationState[]
  /** The newest ended ones, oldest first. */
  ended: readonly DelegationState[]
}

/** Origin and outcome of a delegated conversation. */
export interface DelegatedState extends Delegated {
  outcome?: DelegationOutcome
}

/** Maximum number of open delegations; more are refused. */
export const maxPending = 64
const rememberedEnded = 16

export function evolveDelegations(
  state: DelegationsState | undefined,
  recorded: RecordedEvent,
): DelegationsState | undefined {
  const { event, version, at } = recorded
  if (event.type === 'delegation.started') {
    const { delegationId: id, childId, from, to } = event
    const { count, pending, ended } = state ?? { count: 0, pending: [], ended: [] }
    const started: DelegationState = { id, childId, from, to, status: 'pending', version, startedAt: at }
    return { count: count + 1, pending: [...pending, started], ended }
  }
  if (event.type === 'delegation.ended' && state) {
    const delegation = state.pending.find(({ id }) => id === event.delegationId)
    if (!delegation) return state
    return {
      ...state,
      pending: state.pending.filter(other => other !== delegation),
      ended: [...state.ended, { ...delegation, status: event.outcome, endedAt: version }].slice(-rememberedEnded),
    }
  }
  return state
}

export function evolveDelegated(
  state: DelegatedState | undefined,
  { event }: RecordedEvent,
): DelegatedState | undefined {
  if (event.type === 'conversation.created') return event.delegated
  if (event.type === 'delegation.returned' && state) return { ...state, outcome: event.outcome }
  return state
}
