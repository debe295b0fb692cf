/**
 * Packs the sections into the budget, in a stated order, and says what became of each part.
 *
 * When everything does not fit, in this order: old tool results are shortened; sections that change often are trimmed;
 * the oldest messages are left out, in blocks, without a hole and with whole pairs of call and result; recalled quotes
 * go; then the oldest messages of the catch-up; the context is trimmed; then the instructions that stay; and at last the
 * message itself, with a marker. Description, checkpoint, pinned messages and computed state are fixed: if they alone do
 * not fit, that is an error and no request.
 */
import { BudgetTooSmall } from '../../errors.ts'
import type { Message } from '../../log/views/message.ts'
import { sizeOf } from '../text/sizes.ts'
import type { TokenEstimator } from '../text/tokens.ts'
import type { PackedCatchUp } from './catch-up.ts'
import { Draft, type Shares } from './draft.ts'
import type { LedgerEntry, PackedLedger } from './ledger.ts'
import { account } from './ledger-entries.ts'
import type { Quote, Sections, TextSection, Trigger } from './sections.ts'

export interface PackOptions {
  budget: number
  /** Tokens of the budget that stay free for what a provider counts beyond our measure. */
  reserve?: number
  estimator: TokenEstimator
  /** Messages may be left out. False for the checkpoint strategy before its latch: overflow is reported instead. */
  mayOmit: boolean
  /** The most messages of the history, whatever the budget. */
  maxMessages?: number
  /** Largest shares of the budget. */
  shares?: Shares
}

export interface Packed {
  description: TextSection
  context: TextSection
  checkpoint: Sections['checkpoint']
  pinned: readonly Message[]
  /** Standing instructions that are in no other section, because their place in the history is left out. */
  standing: readonly Message[]
  history: readonly Message[]
  omitted: { messages: number; tokens: number }
  catchUp: PackedCatchUp | undefined
  state: TextSection
  changes: TextSection
  recall: readonly Quote[]
  trigger: Trigger
  tokens: number
  /** The counts without overhead: of everything, and of the sections behind the history. */
  counted: { all: number; behindHistory: number }
  /** Messages would have to be left out, but may not be: compact first. */
  overflows: boolean
  ledger: PackedLedger
}

export const defaultShares: Shares = { context: 0.4, changes: 0.1, recall: 0.1, catchUp: 0.3 }

export function pack(sections: Sections, options: PackOptions): Packed {
  const { estimator, mayOmit, maxMessages, shares = defaultShares } = options
  const budget = options.budget - (options.reserve ?? 0)
  const draft = new Draft(sections, { budget, estimator, shares })
  if (maxMessages !== undefined) draft.keepNewest(maxMessages)
  // More than the budget holds was not even read: the history begins with a block.
  else if (mayOmit && draft.omitted.messages > 0) draft.leaveOutOldest(draft.answeredMessages())

  // Quotes of left-out messages are the first to go if nothing may be left out.
  if (draft.excess > 0 && !mayOmit) draft.recall = []
  if (draft.excess > 0) draft.shortenOldResults()
  if (draft.excess > 0) draft.shrink('changes')
  const overflows = !mayOmit && ((draft.excess > 0 && draft.history.length > 0) || draft.omitted.messages > 0)
  if (draft.excess > 0 && mayOmit) draft.leaveOutOldest(draft.answeredMessages())
  if (!overflows) {
    if (draft.excess > 0) draft.recall = []
    if (draft.excess > 0) draft.shrinkCatchUp()
    if (draft.excess > 0) draft.shrink('context')
    if (draft.excess > 0) draft.shortenTriggerResults()
    if (draft.excess > 0 && mayOmit) draft.leaveOutOldest(0)
    if (draft.excess > 0) draft.trimStanding()
    if (draft.excess > 0 && !draft.trimTrigger()) throw tooSmall(sections, budget, draft.size)
  }
  const { description, checkpoint, state } = sections
  const { context, changes, recall, pinned, standing, history, omitted, catchUp, trigger, size } = draft
  const chosen = { context, changes, recall, pinned, standing, history, omitted, catchUp, trigger }
  return {
    description,
    checkpoint,
    state,
    ...chosen,
    tokens: size,
    counted: countedIn({ sections, ...chosen }),
    overflows,
    ledger: ledger(options.budget, { used: size, free: Math.max(0, budget - size) }, () => [
      ...draft.cuts,
      ...account({ sections, ...chosen }),
    ]),
  }
}

/** Entries are written when they are first read: there is one for every message, and most requests are only sent. */
function ledger(
  budget: number,
  { used, free }: Pick<PackedLedger, 'used' | 'free'>,
  write: () => LedgerEntry[],
): PackedLedger {
  let entries: LedgerEntry[] | undefined
  return {
    budget,
    used,
    free,
    get entries() {
      entries ??= write()
      return entries
    },
  }
}

function countedIn({
  sections: { description, checkpoint, state },
  context,
  changes,
  recall,
  pinned,
  standing,
  history,
  catchUp,
  trigger,
}: Pick<Packed, 'context' | 'changes' | 'recall' | 'pinned' | 'standing' | 'history' | 'catchUp' | 'trigger'> & {
  sections: Sections
}) {
  const tokensOf = (parts: readonly { tokens: number }[]) => parts.reduce((total, { tokens }) => total + tokens, 0)
  const countOf = (messages: readonly Message[]) => messages.reduce((total, { tokens }) => total + tokens.count, 0)
  const behindHistory = tokensOf([state, changes, ...recall]) + countOf(catchUp?.messages ?? [])
  const fixed = tokensOf([description, context, trigger]) + (checkpoint?.tokens ?? 0)
  return { all: fixed + countOf([...pinned, ...standing, ...history]) + behindHistory, behindHistory }
}

function tooSmall(
  { description, checkpoint, state, pinned }: Sections,
  budget: number,
  needed: number,
): BudgetTooSmall {
  const sizes: Array<[string, number]> = [
    ['description', description.tokens],
    ['checkpoint', checkpoint?.tokens ?? 0],
    ['state', state.tokens],
    ['pinned', sizeOf(pinned)],
  ]
  const [section] = sizes.sort((a, b) => b[1] - a[1])[0]!
  return new BudgetTooSmall({ section, needed, budget })
}
