/** The port for looking back over a whole project: who did what, and what it took. */

import type { Listed } from './directory.ts'
import type { StoredEvent } from './events/event.ts'
import { isoTime } from './time.ts'

export interface AuditQuery {
  project: string
  actor?: string
  channel?: string
  requestId?: string
  /** The type of the event. */
  type?: string
  conversationId?: string
  /** ISO times, inclusive: a day alone is all of it, in UTC. */
  since?: string
  until?: string
  cursor?: string
  /** Default 100. */
  limit?: number
}

/** An event's envelope. */
export interface AuditEntry {
  conversationId: string
  version: number
  /** ISO time. */
  at: string
  actor: string
  channel: string
  requestId?: string
  type: string
  sessionId?: string
}

/** Tokens and cost as providers reported them. */
export interface Spending {
  messages: number
  tokens: number
  input: number
  output: number
  /** In US dollars, of the calls whose price is known. */
  cost: number
  /** Calls that reported usage, and those of them whose price is unknown. */
  calls: number
  unpriced: number
}

export interface ProjectSpending {
  project: Spending
  agents: Record<string, Spending>
  models: Record<string, Spending>
}

export interface Accounts {
  /**
   * The newest first. Looks at so much of the log at a time: a page may have fewer entries than asked for, none even,
   * and still a `next`.
   */
  audit(query: AuditQuery): Promise<Listed<AuditEntry>>
  /** Sums that are kept. A store may keep none; then whoever wants them folds them from the log. */
  spending?(project: string): Promise<ProjectSpending>
  spendingOf?(project: string, conversationIds: readonly string[]): Promise<Record<string, Spending>>
}

/** The entry of a row, of whichever store. */
export function auditEntry(
  row: {
    conversationId: string
    version: number
    at: number
    actor: string
    channel: string
    request: string | null
    type: string
  },
  event: StoredEvent,
): AuditEntry {
  const { at, request, ...rest } = row
  const sessionId = 'sessionId' in event && typeof event.sessionId === 'string' ? event.sessionId : undefined
  return {
    ...rest,
    at: isoTime(at),
    ...(request !== null && { requestId: request }),
    ...(sessionId !== undefined && { sessionId }),
  }
}
