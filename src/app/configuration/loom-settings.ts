/** Translates Loom's `conversation:` block into settings. */
import { z } from 'zod'

const unitMs = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

/** `24h`, `90m`, `1h30m`, or milliseconds. */
const Duration = z.union([
  z.int().positive(),
  z
    .string()
    .regex(/^(\d+(ms|s|m|h|d))+$/, 'must be a duration such as 24h or 90m')
    .transform(text => {
      let total = 0
      for (const [, amount, unit] of text.matchAll(/(\d+)(ms|s|m|h|d)/g)) {
        total += Number(amount) * unitMs[unit as keyof typeof unitMs]
      }
      return total
    })
    .pipe(z.int().positive().max(Number.MAX_SAFE_INTEGER)),
])

export const LoomSettings = z
  .strictObject({
    session_expiration: Duration,
    cleanup_interval: Duration,
    token_strategy: z.enum(['sliding_window', 'summarization', 'checkpoint', 'recent']),
    max_tokens: z.int().positive(),
    keep_recent_messages: z.int().positive(),
  })
  .partial()

/** Translates the block. The sliding window keeps as many of the newest messages as fit, so it takes no number. */
export function fromLoom(settings: z.output<typeof LoomSettings>) {
  const { session_expiration, cleanup_interval, token_strategy, max_tokens, keep_recent_messages } = settings
  const strategy = token_strategy && strategyOf(token_strategy, keep_recent_messages)
  return {
    ...(session_expiration !== undefined && { sessionExpiresInMs: session_expiration }),
    ...(cleanup_interval !== undefined && { sweepEveryMs: cleanup_interval }),
    requests: {
      ...(max_tokens !== undefined && { budget: max_tokens }),
      ...(strategy && { strategy }),
    },
  }
}

function strategyOf(name: 'sliding_window' | 'summarization' | 'checkpoint' | 'recent', keep = 10) {
  if (name === 'summarization') return { name, keepRecentMessages: keep } as const
  if (name === 'recent') return { name, messages: keep } as const
  return { name } as const
}
