/** The account of a request: for every section and message what became of it, what it takes, and why. */
export type Fate = 'kept' | 'trimmed' | 'summarised' | 'left-out'

export interface LedgerEntry {
  /** A section's name, or 'message', or 'messages' for a range. */
  what: string
  fate: Fate
  tokens: number
  why: string
  /** For messages: their versions, or the range. */
  versions?: readonly number[]
  range?: { from: number; to: number; messages: number }
}

export interface Ledger {
  budget: number
  used: number
  free: number
  entries: LedgerEntry[]
}
