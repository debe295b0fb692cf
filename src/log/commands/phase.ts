/** Decisions about phases, checked against the transitions the project allows. */
import { z } from 'zod'
import { InvalidInput, PhaseRefused } from '../../errors.ts'
import { Id } from '../events/id.ts'
import { PhaseChanged } from '../events/phase.ts'
import type { ConversationInfo } from '../views/conversation.ts'
import { phaseDueAt } from '../views/phase.ts'
import { type Decision, openConversationIn } from './decision.ts'
import { legalFrom, type PhaseSet } from './phase-set.ts'

const { message, reason, summary, agent } = PhaseChanged.shape

export const PhaseTransition = z.strictObject({
  to: Id,
  message,
  reason,
  summary,
  agent,
  /** Refuses the transition unless the conversation is in this phase. */
  expectedPhase: Id.optional(),
})
export type PhaseTransition = z.input<typeof PhaseTransition>

export function transitionPhase(id: string, set: PhaseSet | undefined, transition: PhaseTransition): Decision {
  return heads => {
    const { info } = openConversationIn(heads, id)
    return transitionEvents(info, set, transition)
  }
}

/** Returns no event when the conversation is in that phase already. */
export function transitionEvents(
  info: ConversationInfo,
  set: PhaseSet | undefined,
  { to, expectedPhase, ...details }: PhaseTransition,
): PhaseChanged[] {
  const from = info.phase ?? set?.initial
  const facts = { conversationId: info.id, from: from ?? null, to, legal: set ? legalFrom(set, from) : [] }
  if (!set) throw new PhaseRefused(facts, 'This project has no phases (phases: none).')
  if (expectedPhase !== undefined && expectedPhase !== from) {
    throw new PhaseRefused(
      facts,
      `Conversation ${info.id} is in phase "${from}", not "${expectedPhase}". Nothing was written. Read it again and decide again.`,
    )
  }
  if (to === from) return []
  if (!facts.legal.includes(to)) throw new PhaseRefused(facts)
  return [phaseChange(info, set, to, details)]
}

/** Builds the event without checking the transition, because undoing a turn may go back against the table. */
export function phaseChange(
  info: ConversationInfo,
  set: PhaseSet,
  to: string,
  details: Pick<PhaseChanged, 'message' | 'reason' | 'summary' | 'agent'>,
): PhaseChanged {
  const from = info.phase ?? set.initial
  const timeoutMs = ruleOf(set, to)?.timeoutMs
  const forgets = ruleOf(set, from)?.forgetsReadFilesTo?.includes(to)
  return {
    type: 'phase.changed',
    from,
    to,
    ...details,
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(forgets && { forgetsReadFiles: true }),
    ...(info.phaseState && { previous: info.phaseState.version }),
  }
}

/** Reports a stuck phase once, and moves on where the project's phases say so. */
export function reportStuckPhase(id: string, set: PhaseSet | undefined): Decision {
  return (heads, now) => {
    const info = heads.conversation?.info
    const dueAt = phaseDueAt(info?.phaseState)
    if (info?.status !== 'active' || info.phase === undefined || dueAt === undefined || dueAt > now) return []
    const { phase } = info
    const { since } = info.phaseState!
    const onTimeout = set && ruleOf(set, phase)?.onTimeout
    return [
      { type: 'phase.stuck', phase, since, forMs: now - Date.parse(since) },
      ...(set && typeof onTimeout === 'object'
        ? transitionEvents(info, set, { to: onTimeout.moveTo, reason: `stuck in ${phase} (conversation ${id})` })
        : []),
    ]
  }
}

/** Returns the phase fields of `conversation.created`. */
export function firstPhase(
  set: PhaseSet | undefined,
  requestedPhase: string | undefined,
): { phase?: string; phaseTimeoutMs?: number } {
  if (!set) {
    if (requestedPhase !== undefined) throw new InvalidInput('phase', 'this project has no phases (phases: none)')
    return {}
  }
  const phase = requestedPhase ?? set.initial
  if (!Object.hasOwn(set.phases, phase))
    throw new InvalidInput('phase', `there is no phase "${phase}"; there are ${Object.keys(set.phases).join(', ')}`)
  const timeoutMs = ruleOf(set, phase)?.timeoutMs
  return { phase, ...(timeoutMs !== undefined && { phaseTimeoutMs: timeoutMs }) }
}

function ruleOf(set: PhaseSet, phase: string) {
  return Object.hasOwn(set.phases, phase) ? set.phases[phase] : undefined
}
