/** Facts about the phase of a conversation. */
import { z } from 'zod'
import { Id } from './id.ts'

/** Longer hand-overs belong in a message, because the newest one is part of the conversation's head. */
const Note = z.string().max(20_000)

export const PhaseChanged = z.object({
  type: z.literal('phase.changed'),
  from: Id.optional(),
  to: Id,
  /** Instructions for the next phase. */
  message: Note.optional(),
  reason: Note.optional(),
  /** State of the work for the next agent. */
  summary: Note.optional(),
  /** The agent that made the transition; the envelope has the actor. */
  agent: Id.optional(),
  /** Time the phase may take before it counts as stuck, as configured when it was entered. */
  timeoutMs: z.int().positive().optional(),
  /** Files that agents read before no longer allow them to write. */
  forgetsReadFiles: z.boolean().optional(),
  /** Version of the previous transition. */
  previous: z.int().positive().optional(),
})
export type PhaseChanged = z.infer<typeof PhaseChanged>

/** The phase exceeded its time. Recorded once each time it is entered. */
export const PhaseStuck = z.object({
  type: z.literal('phase.stuck'),
  phase: Id,
  /** ISO time it was entered. */
  since: z.string(),
  forMs: z.int().nonnegative(),
})
export type PhaseStuck = z.infer<typeof PhaseStuck>
