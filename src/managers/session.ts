/** A session as callers see it. */
import type { SessionHead } from '../views/session.ts'

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
