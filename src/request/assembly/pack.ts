/**
 * Fits the material into the budget, in a stated order, and says what became of each part.
 *
 * When everything does not fit: old tool results are shortened first, then what changes often is trimmed, then the
 * oldest messages are left out (the kept ones are contiguous, and a tool call is never parted from its result), then
 * recalled quotes, then the oldest of what came while the agent was away, then the context is trimmed, and at last the message itself, with a marker. Description, checkpoint,
 * pinned messages and computed state are fixed: if they alone do not fit, that is an error and no request.
 */
import { BudgetTooSmall } from '../../errors.ts'
import type { Message } from '../../log/views/message.ts'
import { partsText } from '../text/part-text.ts'
import { messageSize, noticeTokens, overhead, sectionSize, sizeOf, textSize, wholeSize } from '../text/sizes.ts'
import type { TokenEstimator } from '../text/tokens.ts'
import { trimText } from '../text/trim.ts'
import { catchUpSize, fitCatchUp, type PackedCatchUp } from './catch-up.ts'
import type { LedgerEntry, PackedLedger } from './ledger.ts'
import { account } from './ledger-entries.ts'
import { cutBehindContents } from './reference-contents.ts'
import type { Material, Quote, TextSection, Trigger } from './sections.ts'
import { shortenResults } from './shorten-results.ts'
import { earliestWholeCut } from './tool-pairs.ts'

export interface PackOptions {
  budget: number
  /** Tokens of the budget that stay free: what a provider is known to count beyond our measure. */
  reserve?: number
  estimator: TokenEstimator
  /** Leave out messages if need be. False for the checkpoint strategy before its latch: then overflow is reported. */
  mayOmit: boolean
  /** At most so many messages, whatever the budget. */
  maxMessages?: number
  /** Largest shares of the budget. */
  shares?: Shares
}

export interface Packed {
  description: TextSection
  context: TextSection
  checkpoint: Material['checkpoint']
  pinned: readonly Message[]
  history: readonly Message[]
  omitted: { messages: number; tokens: number }
  catchUp: PackedCatchUp | undefined
  state: TextSection
  changes: TextSection
  recall: readonly Quote[]
  trigger: Trigger
  tokens: number
  /** The counts alone, without the overhead around them; and of those what stands behind the history. */
  counted: { all: number; behindHistory: number }
  /** Messages would have to be left out, but may not be: compact first. */
  overflows: boolean
  ledger: PackedLedger
}

/** Largest shares of the budget. */
interface Shares {
  context: number
  changes: number
  recall: number
  catchUp: number
}

export const defaultShares: Shares = { context: 0.4, changes: 0.1, recall: 0.1, catchUp: 0.3 }
/** The newest messages keep their tool results whole as long as possible. */
const freshMessages = 4
const shortResultTokens = 200

export function pack(material: Material, options: PackOptions): Packed {
  const { estimator } = options
  const budget = options.budget - (options.reserve ?? 0)
  const shares = options.shares ?? defaultShares
  const cuts: LedgerEntry[] = []
  const note = (entry: LedgerEntry) => cuts.push(entry)

  const fixed = fixedSize(material)
  let pinned = [...material.pinned]
  let { trigger } = material
  let context = capped('context', material.context, Math.floor(budget * shares.context), options, note)
  let changes = capped('changes', material.changes, Math.floor(budget * shares.changes), options, note)
  let recall = fitRecall(material.recall, Math.floor(budget * shares.recall))
  let catchUp = fitCatchUp(material.catchUp, Math.floor(budget * shares.catchUp), keepPinned)
  let history: readonly Message[] = material.history
  let historySize = sizeOf(history)
  let omitted = material.earlier
  const limit = options.maxMessages
  if (limit !== undefined && history.length + omitted.messages > limit)
    drop(earliestWholeCut(history, Math.max(0, history.length - limit)))

  const total = () =>
    fixed +
    sizeOf(pinned) +
    sectionSize(context.tokens) +
    sectionSize(changes.tokens) +
    recallSize(recall) +
    catchUpSize(catchUp) +
    textSize(trigger) +
    historySize +
    (omitted.messages > 0 ? sectionSize(noticeTokens) : 0)

  function keepPinned(leaving: readonly Message[]): void {
    pinned = [...pinned, ...leaving.filter(message => message.pinned)]
  }

  function drop(least: number): void {
    const count = least > 0 ? cutBehindContents(history, least) : least
    // A pinned message leaves its place in the history, but not the request.
    const leaving = history.slice(0, count)
    keepPinned(leaving)
    const dropped = leaving.filter(message => !message.pinned)
    history = history.slice(count)
    historySize -= sizeOf(leaving)
    omitted = {
      messages: omitted.messages + dropped.length,
      tokens: omitted.tokens + dropped.reduce((sum, message) => sum + message.tokens.count, 0),
    }
  }

  function dropDownTo(fewest: number): void {
    while (total() > budget && history.length > fewest) {
      const count = nextCut(history, total() - budget)
      if (history.length - count < fewest) return
      drop(count)
    }
  }

  // Where nothing may be left out, quotes of what is left out are the first to go.
  if (total() > budget && !options.mayOmit) recall = []
  if (total() > budget) {
    history = shortenOld(history, estimator)
    historySize = sizeOf(history)
  }
  if (total() > budget) changes = shrunk('changes', changes, total() - budget, options, note)
  let overflows = false
  if (total() > budget && history.length > 0) {
    if (!options.mayOmit) overflows = true
    else dropDownTo(answeredTail(history, trigger))
  }
  if (!options.mayOmit && omitted.messages > 0) overflows = true
  if (total() > budget && !overflows) recall = []
  if (total() > budget && !overflows && catchUp) {
    catchUp = fitCatchUp(
      { ...catchUp, earlier: catchUp.omitted },
      Math.max(0, catchUpSize(catchUp) - (total() - budget)),
      keepPinned,
    )
  }
  if (total() > budget && !overflows) context = shrunk('context', context, total() - budget, options, note)
  if (total() > budget && !overflows) {
    const room = trigger.tokens - (total() - budget)
    trigger = withShortResults(trigger, room, estimator)
    if (options.mayOmit) dropDownTo(0)
  }
  if (total() > budget && !overflows) {
    const room = trigger.tokens - (total() - budget)
    // Its stored count is of everything the message holds, also of what is not told of it.
    const tokens = Math.min(trigger.tokens, estimator.count(trigger.text))
    const cut = trimText(trigger.text, { to: room, tokens, estimator, how: 'the log has all of it' })
    if (room < minimalTrigger || cut.tokens === 0) throw tooSmall(material, budget, total())
    const { message: _, images: __, ...plain } = trigger
    trigger = { ...plain, text: cut.text, tokens: cut.tokens }
  }
  const tokens = total()
  if (tokens > budget && !overflows) throw tooSmall(material, budget, tokens)
  const { description, checkpoint, state } = material
  const chosen = { context, changes, recall, pinned, history, omitted, catchUp, trigger }
  return {
    description,
    checkpoint,
    state,
    ...chosen,
    tokens,
    counted: countedIn({ material, ...chosen }),
    overflows,
    ledger: ledger(options.budget, { used: tokens, free: Math.max(0, budget - tokens) }, () => [
      ...cuts,
      ...account({ material, ...chosen }),
    ]),
  }
}

/** Its entries are written when somebody looks at them: there is one for every message, and most requests are only sent. */
function ledger(
  budget: number,
  { used, free }: Pick<PackedLedger, 'used' | 'free'>,
  write: () => LedgerEntry[],
): PackedLedger {
  let written: LedgerEntry[] | undefined
  return {
    budget,
    used,
    free,
    get entries() {
      written ??= write()
      return written
    },
  }
}

const minimalTrigger = 40

function fixedSize({ description, checkpoint, state }: Material): number {
  return sectionSize(description.tokens) + sectionSize(checkpoint?.tokens ?? 0) + sectionSize(state.tokens)
}

function countedIn({
  material: { description, checkpoint, state },
  context,
  changes,
  recall,
  pinned,
  history,
  catchUp,
  trigger,
}: Pick<Packed, 'context' | 'changes' | 'recall' | 'pinned' | 'history' | 'catchUp' | 'trigger'> & {
  material: Material
}) {
  const sum = (parts: readonly { tokens: number }[]) => parts.reduce((total, { tokens }) => total + tokens, 0)
  const said = [...pinned, ...history].reduce((total, { tokens }) => total + tokens.count, 0)
  const away = (catchUp?.messages ?? []).reduce((total, { tokens }) => total + tokens.count, 0)
  const behindHistory = sum([state, changes, ...recall]) + away
  const all = sum([description, context, trigger]) + (checkpoint?.tokens ?? 0) + said + behindHistory
  return { all, behindHistory }
}

/** What the agent's own tools gave back is shortened before the message becomes mere text. */
function withShortResults(trigger: Trigger, room: number, estimator: TokenEstimator): Trigger {
  const { message } = trigger
  if (!message) return trigger
  const each = Math.floor(room / message.parts.length) - overhead.part
  if (each < minimalTrigger) return trigger
  const shortened = shortenResults(message, each, estimator)
  return { ...trigger, text: partsText(shortened.parts), tokens: wholeSize(shortened), message: shortened }
}

function recallSize(quotes: readonly Quote[]): number {
  if (quotes.length === 0) return 0
  return overhead.section + quotes.reduce((sum, quote) => sum + textSize(quote), 0)
}

/** Hits before their neighbours, the best first; a quote too large for the share is passed over. Given as they were said. */
function fitRecall(quotes: readonly Quote[], share: number): readonly Quote[] {
  const chosen: Quote[] = []
  const isHit = (quote: Quote) => quote.beside === undefined
  for (const quote of [...quotes.filter(isHit), ...quotes.filter(quote => !isHit(quote))]) {
    const hasHit = isHit(quote) || chosen.some(one => one.version === quote.beside)
    if (hasHit && recallSize([...chosen, quote]) <= share) chosen.push(quote)
  }
  return chosen.sort((a, b) => a.version - b.version)
}

function capped(
  what: string,
  section: TextSection,
  most: number,
  { estimator }: PackOptions,
  note: (entry: LedgerEntry) => void,
): TextSection {
  if (section.tokens <= most) return section
  const cut = trimText(section.text, {
    to: most,
    tokens: section.tokens,
    estimator,
    how: 'read the files for the rest',
    keep: 'beginning',
  })
  note({
    what,
    fate: 'trimmed',
    tokens: sectionSize(cut.tokens),
    why: `it has ${section.tokens} tokens and its share is ${most}`,
  })
  return { text: cut.text, tokens: cut.tokens }
}

function shrunk(
  what: string,
  section: TextSection,
  by: number,
  { estimator }: PackOptions,
  note: (entry: LedgerEntry) => void,
): TextSection {
  if (section.tokens === 0) return section
  const to = Math.max(0, section.tokens - by)
  const cut = trimText(section.text, {
    to,
    tokens: section.tokens,
    estimator,
    how: 'to stay inside the budget',
    keep: 'beginning',
  })
  note({ what, fate: cut.tokens === 0 ? 'left-out' : 'trimmed', tokens: cut.tokens, why: 'the budget is full' })
  return { text: cut.text, tokens: cut.tokens }
}

function shortenOld(history: readonly Message[], estimator: TokenEstimator): readonly Message[] {
  const old = history.length - freshMessages
  if (!history.some(message => message.parts.some(part => part.type === 'tool-result'))) return history
  return history.map((message, index) =>
    index < old ? shortenResults(message, shortResultTokens, estimator) : message,
  )
}

/** How many of the oldest messages to leave out next: enough for `excess`, and no call without its result. */
function nextCut(history: readonly Message[], excess: number): number {
  let freed = 0
  let count = 0
  while (freed < excess && count < history.length) freed += messageSize(history[count++]!)
  return earliestWholeCut(history, count)
}

/** How many of the newest messages stay, so that the results this request is for stand behind their calls. */
function answeredTail(history: readonly Message[], { message }: Trigger): number {
  const answered = new Set(message?.parts.flatMap(part => (part.type === 'tool-result' ? [part.callId] : [])))
  if (answered.size === 0) return 0
  const first = history.findIndex(({ parts }) =>
    parts.some(part => part.type === 'tool-call' && answered.has(part.callId)),
  )
  return first < 0 ? 0 : history.length - first
}

function tooSmall(
  { description, checkpoint, state, pinned }: Material,
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
