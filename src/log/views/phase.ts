/** The phase of a conversation, since when, and its hand-over. Folded from its log. */
import { z } from 'zod'
import type { RecordedEvent } from '../events/recorded-event.ts'

export const PhaseState = z.object({
  /** Version of the event that entered it. */
  version: z.int(),
  /** ISO time. */
  since: z.string(),
  from: z.string().optional(),
  message: z.string().optional(),
  reason: z.string().optional(),
  /** State of the work at the hand-over. */
  summary: z.string().optional(),
  agent: z.string().optional(),
  actor: z.string(),
  timeoutMs: z.int().optional(),
  /** ISO time it was reported stuck. */
  stuckAt: z.string().optional(),
})
export type PhaseState = z.infer<typeof PhaseState>

export function evolvePhase(state: PhaseState | undefined, recorded: RecordedEvent): PhaseState | undefined {
  const { event, version, at, actor } = recorded
  switch (event.type) {
    case 'conversation.created': {
      if (event.phase === undefined) return state
      const { phaseTimeoutMs: timeoutMs } = event
      return { version, since: at, actor, ...(timeoutMs !== undefined && { timeoutMs }) }
    }
    case 'phase.changed': {
      const { type: _, to: __, previous: ___, forgetsReadFiles: ____, ...rest } = event
      return { version, since: at, actor, ...rest }
    }
    case 'phase.stuck':
      return state && { ...state, stuckAt: at }
    default:
      return state
  }
}

/** Returns when the phase counts as stuck; undefined without a time limit or when already reported. */
export function phaseDueAt(state: PhaseState | undefined): number | undefined {
  if (state?.timeoutMs === undefined || state.stuckAt !== undefined) return undefined
  return Date.parse(state.since) + state.timeoutMs
}
