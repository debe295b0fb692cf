/** A session as callers see it: its head, and the running sums of its messages. */
import { z } from 'zod'
import type { Engine } from '../../log/engine.ts'
import { WorkItemType } from '../../log/events/work-item.ts'
import { expiryOf, SessionHead } from '../../log/views/session.ts'
import { lifeOf, windowOf } from '../../log/windows.ts'

const Totals = z.object({ messages: z.int(), tokens: z.int(), tokensIn: z.int(), tokensOut: z.int() })

export const SessionStats = z
  .object({
    /** Messages in the window now. */
    messages: z.int(),
    /** Their tokens, counted when they were written. */
    tokens: z.int(),
    /** Their tokens as providers reported them. */
    tokensIn: z.int(),
    tokensOut: z.int(),
    compactions: z.int(),
    /** ISO time of the last use. */
    lastActivityAt: z.string(),
    /** The same over the session's whole life: clear and reset do not touch it. */
    total: Totals,
  })
  .meta({ id: 'SessionStats' })
export type SessionStats = z.infer<typeof SessionStats>

export const Session = SessionHead.extend({
  type: WorkItemType,
  /** ISO time it ends without further use; null for never. */
  expiresAt: z.string().nullable(),
  stats: SessionStats,
}).meta({ id: 'Session' })
export type Session = z.infer<typeof Session>

export async function sessionFrom({ store, clock }: Engine, head: SessionHead): Promise<Session> {
  // Most sessions were never cleared, so their window is their whole life and is measured once.
  const isWhole = head.windowStart === 0 && head.kept.length === 0
  const window = store.measure(windowOf(head))
  const [now, total] = await Promise.all([window, isWhole ? window : store.measure(lifeOf(head))])
  const lastActivityAt =
    now.lastActiveAt !== undefined && now.lastActiveAt > head.updatedAt ? now.lastActiveAt : head.updatedAt
  const expiry = expiryOf(head, Date.parse(lastActivityAt))
  // An overdue session takes no more writes, even if the sweep has not marked it yet.
  const isOver = head.status === 'active' && expiry !== undefined && expiry <= clock()
  return {
    ...structuredClone(head),
    status: isOver ? 'expired' : head.status,
    type: head.workItem.type,
    expiresAt: expiry === undefined ? null : new Date(expiry).toISOString(),
    stats: {
      messages: now.messages,
      tokens: now.tokens,
      tokensIn: now.input,
      tokensOut: now.output,
      compactions: head.compactions,
      lastActivityAt,
      total: { messages: total.messages, tokens: total.tokens, tokensIn: total.input, tokensOut: total.output },
    },
  }
}
