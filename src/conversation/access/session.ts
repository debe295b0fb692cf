/** A session as callers see it: its head, and what running sums say of its messages. */
import type { Engine } from '../../log/engine.ts'
import { ownCopy } from '../../log/freeze.ts'
import { expiryOf, type SessionHead } from '../../log/views/session.ts'
import { lifeOf, windowOf } from '../../log/windows.ts'

export interface SessionStats {
  /** Messages in the window now. */
  messages: number
  /** Their size, counted when they were written. */
  tokens: number
  /** What providers reported for them. */
  tokensIn: number
  tokensOut: number
  compactions: number
  /** ISO time of the last use. */
  lastActivityAt: string
  /** The same over the session's whole life: clear and reset do not touch it. */
  total: { messages: number; tokens: number; tokensIn: number; tokensOut: number }
}

export interface Session extends SessionHead {
  /** 'feature', 'task', 'bead' or 'thread'. */
  type: SessionHead['workItem']['type']
  /** ISO time it ends without further use; null for never. */
  expiresAt: string | null
  stats: SessionStats
}

export async function sessionFrom({ store, clock }: Engine, head: SessionHead): Promise<Session> {
  // Most were never cleared: their window is their whole life, and asked for once.
  const isWhole = head.windowStart === 0 && head.kept.length === 0
  const window = store.measure(windowOf(head))
  const [now, total] = await Promise.all([window, isWhole ? window : store.measure(lifeOf(head))])
  const lastActivityAt =
    now.lastActiveAt !== undefined && now.lastActiveAt > head.updatedAt ? now.lastActiveAt : head.updatedAt
  const expiry = expiryOf(head, Date.parse(lastActivityAt))
  // One whose time is over takes no more writes, whether the sweep has marked it or not.
  const isOver = head.status === 'active' && expiry !== undefined && expiry <= clock()
  return {
    ...ownCopy(head),
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
