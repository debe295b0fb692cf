/** Strategies for fitting a session's history into its budget. */
import { z } from 'zod'

export const Strategy = z.discriminatedUnion('name', [
  /** Older messages become a checkpoint; nothing is omitted before its latch. The default. */
  z.object({ name: z.literal('checkpoint') }),
  /** The system message, a notice, and the newest messages that fit 80 % of the model's limit. */
  z.object({ name: z.literal('sliding_window') }),
  /** A summary and the last N messages word for word. */
  z.object({ name: z.literal('summarization'), keepRecentMessages: z.int().positive().default(10) }),
  /** The last N messages that a person would read. */
  z.object({ name: z.literal('recent'), messages: z.int().positive().default(10) }),
])
export type Strategy = z.output<typeof Strategy>

export const defaultStrategy: Strategy = { name: 'checkpoint' }
