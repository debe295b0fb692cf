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

/** The parts add up to `used`, by the one measure that trigger and packer share. */
export interface PackedLedger {
  budget: number
  used: number
  free: number
  readonly entries: LedgerEntry[]
}

export interface Ledger extends PackedLedger {
  /** The provider's expected count. The larger of this and `used` is compared with the budget. */
  calibrated: number
  /**
   * True if that continues a real count of the provider. Otherwise (the first request, or after a compaction) only its
   * answer will tell.
   */
  isMeasured: boolean
  /** The model whose limits the budget comes from. */
  model: {
    name: string | undefined
    /** False when the model is in no table, and its limits are the stated default. */
    known: boolean
    contextWindow: number
    outputLimit: number
    inputLimit?: number
  }
  /** The place where strategy and budget were set. */
  set: { strategy: SettingSource; budget: SettingSource }
  /** Further notes for a reader: an assumed window, a budget nearly full. */
  notes: string[]
}

export type SettingSource = 'request' | 'session' | 'project'
