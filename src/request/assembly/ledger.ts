/** The ledger of a request: the fate of every section and message, its tokens, and the reason. */
import { z } from 'zod'

export const LedgerEntry = z.object({
  /** A section's name, or 'message', or 'messages' for a range. */
  what: z.string(),
  fate: z.enum(['kept', 'trimmed', 'summarised', 'left-out']),
  tokens: z.number(),
  why: z.string(),
  /** Versions of messages, or their range. */
  versions: z.array(z.int()).readonly().optional(),
  range: z.object({ from: z.int(), to: z.int(), messages: z.int() }).optional(),
})
export type LedgerEntry = z.infer<typeof LedgerEntry>
export type Fate = LedgerEntry['fate']

/** The entries add up to `used`, by the measure that trigger and packer share. */
const PackedLedger = z.object({
  budget: z.number(),
  used: z.number(),
  free: z.number(),
  entries: z.array(LedgerEntry),
})
export type PackedLedger = z.infer<typeof PackedLedger>

const SettingSource = z.enum(['request', 'session', 'project'])
export type SettingSource = z.infer<typeof SettingSource>

export const Ledger = PackedLedger.extend({
  /** Expected count of the provider, from its earlier counts. The larger of this and `used` must fit the budget. */
  calibrated: z.number(),
  /** False before the first answer, and after a compaction: then `calibrated` does not start from a provider's count. */
  isMeasured: z.boolean(),
  /** The model whose limits determine the budget. */
  model: z.object({
    name: z.string().optional(),
    /** False when the model is in no table, and its limits are the stated default. */
    known: z.boolean(),
    contextWindow: z.number(),
    outputLimit: z.number(),
    inputLimit: z.number().optional(),
  }),
  /** The sources of strategy and budget. */
  set: z.object({ strategy: SettingSource, budget: SettingSource }),
  /** Notes for a reader: an assumed window, a budget nearly full. */
  notes: z.array(z.string()),
}).meta({ id: 'Ledger' })
export type Ledger = z.infer<typeof Ledger>
