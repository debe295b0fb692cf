/** Facts about the phase a conversation is in. */
import { z } from 'zod'
import { Id } from './id.ts'

/** Longer hand-offs belong into a message: the newest one is part of the conversation's head. */
const Note = z.string().max(20_000)

export const PhaseChanged = z.object({
  type: z.literal('phase.changed'),
  from: Id.optional(),
  to: Id,
  /** What the next phase is told. */
  message: Note.optional(),
  reason: Note.optional(),
  /** Where things stand, for whoever takes over. */
  summary: Note.optional(),
  /** The agent that moved it; the envelope has the actor. */
  agent: Id.optional(),
  /** How long the phase may take before it counts as stuck; as the project said when it was entered. */
  timeoutMs: z.int().positive().optional(),
  /** What agents had read no longer allows them to write. */
  forgetsReadFiles: z.boolean().optional(),
  /** Version of the change before this one. */
  previous: z.int().positive().optional(),
})
export type PhaseChanged = z.infer<typeof PhaseChanged>

/** The phase took longer than it may. Recorded once each time it is entered. */
export const PhaseStuck = z.object({
  type: z.literal('phase.stuck'),
  phase: Id,
  /** ISO time it was entered. */
  since: z.string(),
  forMs: z.int().nonnegative(),
})
export type PhaseStuck = z.infer<typeof PhaseStuck>
