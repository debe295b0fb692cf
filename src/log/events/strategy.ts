/** How a session's history is fitted into its budget. */
import { z } from 'zod'

export const Strategy = z.discriminatedUnion('name', [
  /** Older messages are summarised into a checkpoint; nothing is omitted before its latch. The default. */
  z.object({ name: z.literal('checkpoint') }),
  /** Seed 003: the system message, a notice, the newest messages that fit 80 % of the model's limit. */
  z.object({ name: z.literal('sliding_window') }),
  /** Seed 003: a summary and the last N messages word for word. */
  z.object({ name: z.literal('summarization'), keepRecentMessages: z.int().positive().default(10) }),
  /** Seed 000: the last N messages a person would read. */
  z.object({ name: z.literal('recent'), messages: z.int().positive().default(10) }),
])
export type Strategy = z.output<typeof Strategy>

export const defaultStrategy: Strategy = { name: 'checkpoint' }
