/** Facts about routing that goes in circles. */
import { z } from 'zod'
import { Id } from './id.ts'

export const LoopKind = z.enum(['same-route', 'alternating', 'no-progress', 'hop-limit'])
export type LoopKind = z.infer<typeof LoopKind>

/** Routing is blocked from here on, until it is cleared. */
export const LoopDetected = z.object({
  type: z.literal('loop.detected'),
  kind: LoopKind,
  /** The route that was refused. */
  agents: z.array(Id).min(1),
  /** Versions of the turns it was seen in. */
  evidence: z.array(z.int().positive()),
  /** In words. */
  finding: z.string(),
})
export type LoopDetected = z.infer<typeof LoopDetected>

/** Turns up to here are no evidence any more. */
export const LoopCleared = z.object({
  type: z.literal('loop.cleared'),
  reason: z.string().max(20_000).optional(),
  /** The project's rule that cleared it; absent when somebody did. */
  rule: z.enum(['new-request', 'cool-down']).optional(),
})
export type LoopCleared = z.infer<typeof LoopCleared>
