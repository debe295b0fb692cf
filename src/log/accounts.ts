/** Accounts of a whole project: who did what, and the tokens and cost of it. */
import type { Listed } from './directory.ts'

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
   * The newest first. A call reads a part of the log only: a page may have fewer entries than its limit, even none, and
   * still a `next`.
   */
  audit(query: AuditQuery): Promise<Listed<AuditEntry>>
  /** Stored sums; undefined when the store keeps none, and the caller folds them from the log. */
  spending(project: string): Promise<ProjectSpending | undefined>
  spendingOf(project: string, conversationIds: readonly string[]): Promise<Record<string, Spending> | undefined>
}
