/** Facts about routing loops. */
import { z } from 'zod'
import { Id } from './id.ts'

export const LoopKind = z.enum(['same-route', 'alternating', 'no-progress', 'hop-limit'])
export type LoopKind = z.infer<typeof LoopKind>

/** Routing is blocked until the loop is cleared. */
export const LoopDetected = z.object({
  type: z.literal('loop.detected'),
  kind: LoopKind,
  /** The refused route. */
  agents: z.array(Id).min(1),
  /** Versions of the turns that show it. */
  evidence: z.array(z.int().positive()),
  /** Description in words. */
  finding: z.string(),
})
export type LoopDetected = z.infer<typeof LoopDetected>

/** Turns up to here no longer count as evidence. */
export const LoopCleared = z.object({
  type: z.literal('loop.cleared'),
  reason: z.string().max(20_000).optional(),
  /** The project's rule that cleared it; absent when a person did. */
  rule: z.enum(['new-request', 'cool-down']).optional(),
})
export type LoopCleared = z.infer<typeof LoopCleared>
