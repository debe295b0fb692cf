/** One answer of a script. */
import { z } from 'zod'
import { Usage } from '../../log/events/message.ts'

const FailureKind = z.enum([
  'overloaded',
  'rate-limited',
  'context-too-long',
  'refused',
  'network',
  'timed-out',
  'bad-request',
  'bad-response',
  'unauthorised',
  'out-of-credit',
  'failed',
  'cancelled',
])

export const ScriptedTurn = z.strictObject({
  reasoning: z.string().exactOptional(),
  text: z.string().exactOptional(),
  calls: z
    .array(
      z.strictObject({
        name: z.string().min(1),
        input: z.unknown().optional(),
        callId: z.string().min(1).exactOptional(),
        problem: z.string().exactOptional(),
      }),
    )
    .exactOptional(),
  /** Replaces the finish; the parts before it are sent. */
  failure: z
    .strictObject({
      kind: FailureKind,
      message: z.string().exactOptional(),
      retryable: z.boolean().exactOptional(),
      retryAfterMs: z.int().nonnegative().exactOptional(),
    })
    .exactOptional(),
  stopReason: z.enum(['stop', 'length', 'tool-calls', 'other']).exactOptional(),
  usage: Usage.exactOptional(),
})
export type ScriptedTurn = z.infer<typeof ScriptedTurn>
