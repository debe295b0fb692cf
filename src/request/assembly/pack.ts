/**
 * Packs the sections into the budget, in a stated order, and says what became of each part.
 *
 * When not everything fits, old tool results are shortened first. Then follow: the volatile context, the oldest messages,
 * recalled quotes, the oldest messages of the catch-up, the stable context, and at last the trigger, with a marker. Kept
 * messages are contiguous, and a tool call is never parted from its result.
 *
 * Description, checkpoint, pinned messages and computed state are fixed. If they alone do not fit, that is an error.
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
import type { Quote, Sections, TextSection, Trigger } from './sections.ts'
import { shortenResults } from './shorten-results.ts'
import { earliestWholeCut } from './tool-pairs.ts'

export interface PackOptions {
  budget: number
  /** Tokens of the budget that stay free, because the provider counts more than our measure. */
  reserve?: number
  estimator: TokenEstimator
  /** Allows leaving out messages. False for the checkpoint strategy before its latch: then overflow is reported. */
  mayOmit: boolean
  /** Max number of messages, whatever the budget. */
  maxMessages?: number
  shares?: Shares
}

export interface Packed {
  description: TextSection
  context: TextSection
  checkpoint: Sections['checkpoint']
  pinned: readonly Message[]
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
  /** Messages would have to be left out, and may not be: the session is compacted first. */
  overflows: boolean
  ledger: PackedLedger
}

/** Max shares of the budget. */
interface Shares {
  context: number
  changes: number
  recall: number
  catchUp: number
}

export const defaultShares: Shares = { context: 0.4, changes: 0.1, recall: 0.1, catchUp: 0.3 }
/** Number of newest messages whose tool results are not shortened. */
const freshMessages = 4
const shortResultTokens = 200

/** The parts that shrink until the request fits. */
interface Draft {
  context: TextSection
  changes: TextSection
  recall: readonly Quote[]
  pinned: readonly Message[]
  history: readonly Message[]
  historySize: number
  omitted: { messages: number; tokens: number }
  catchUp: PackedCatchUp | undefined
  trigger: Trigger
}

export function pack(sections: Sections, options: PackOptions): Packed {
  const { estimator, mayOmit } = options
  const budget = options.budget - (options.reserve ?? 0)
  const cuts: LedgerEntry[] = []
  const note = (entry: LedgerEntry) => cuts.push(entry)
  const fixed = fixedSize(sections)
  const draft = firstDraft(sections, budget, options, note)
  const excess = () => fixed + sizeOfDraft(draft) - budget

  // If nothing may be left out, quotes of it are the first to go.
  if (excess() > 0 && !mayOmit) draft.recall = []
  if (excess() > 0) replaceHistory(draft, shortenOld(draft.history, estimator))
  if (excess() > 0) draft.changes = shrunk('changes', draft.changes, excess(), options, note)
  const overflows = !mayOmit && (draft.omitted.messages > 0 || (excess() > 0 && draft.history.length > 0))
  if (!overflows && excess() > 0) {
    dropDownTo(draft, answeredTail(draft.history, draft.trigger), excess)
    if (excess() > 0) draft.recall = []
    if (excess() > 0) shortenCatchUp(draft, excess())
    if (excess() > 0) draft.context = shrunk('context', draft.context, excess(), options, note)
    if (excess() > 0) {
      draft.trigger = withShortResults(draft.trigger, draft.trigger.tokens - excess(), estimator)
      if (mayOmit) dropDownTo(draft, 0, excess)
    }
    if (excess() > 0) {
      const trigger = cutTrigger(draft.trigger, draft.trigger.tokens - excess(), estimator)
      if (!trigger) throw tooSmall(sections, budget, budget + excess())
      draft.trigger = trigger
    }
    if (excess() > 0) throw tooSmall(sections, budget, budget + excess())
  }
  const { historySize: _, ...chosen } = draft
  const tokens = budget + excess()
  const { description, checkpoint, state } = sections
  return {
    description,
    checkpoint,
    state,
    ...chosen,
    tokens,
    counted: countedIn(sections, chosen),
    overflows,
    ledger: ledger(options.budget, { used: tokens, free: Math.max(0, budget - tokens) }, () => [
      ...cuts,
      ...account({ sections, ...chosen }),
    ]),
  }
}

/** Every section within its share of the budget, and at most `maxMessages`. */
function firstDraft(
  sections: Sections,
  budget: number,
  options: PackOptions,
  note: (entry: LedgerEntry) => void,
): Draft {
  const { shares = defaultShares, maxMessages } = options
  const share = (name: keyof Shares) => Math.floor(budget * shares[name])
  const draft: Draft = {
    context: capped('context', sections.context, share('context'), options, note),
    changes: capped('changes', sections.changes, share('changes'), options, note),
    recall: fitRecall(sections.recall, share('recall')),
    pinned: sections.pinned,
    history: sections.history,
    historySize: sizeOf(sections.history),
    omitted: sections.earlier,
    catchUp: undefined,
    trigger: sections.trigger,
  }
  draft.catchUp = fitCatchUp(sections.catchUp, share('catchUp'), leaving => keepPinned(draft, leaving))
  const { history, omitted } = draft
  if (maxMessages !== undefined && history.length + omitted.messages > maxMessages)
    drop(draft, earliestWholeCut(history, Math.max(0, history.length - maxMessages)))
  return draft
}

function sizeOfDraft({ pinned, context, changes, recall, catchUp, trigger, historySize, omitted }: Draft): number {
  return (
    sizeOf(pinned) +
    sectionSize(context.tokens) +
    sectionSize(changes.tokens) +
    recallSize(recall) +
    catchUpSize(catchUp) +
    textSize(trigger) +
    historySize +
    (omitted.messages > 0 ? sectionSize(noticeTokens) : 0)
  )
}

function replaceHistory(draft: Draft, history: readonly Message[]): void {
  draft.history = history
  draft.historySize = sizeOf(history)
}

/** A pinned message leaves its place among the others, but not the request. */
function keepPinned(draft: Draft, leaving: readonly Message[]): void {
  draft.pinned = [...draft.pinned, ...leaving.filter(message => message.pinned)]
}

/** Leaves out at least `count` of the oldest messages. */
function drop(draft: Draft, count: number): void {
  const { history, omitted } = draft
  const wholeCount = count > 0 ? cutBehindContents(history, count) : count
  const leaving = history.slice(0, wholeCount)
  keepPinned(draft, leaving)
  const dropped = leaving.filter(message => !message.pinned)
  draft.history = history.slice(wholeCount)
  draft.historySize -= sizeOf(leaving)
  draft.omitted = {
    messages: omitted.messages + dropped.length,
    tokens: omitted.tokens + dropped.reduce((sum, message) => sum + message.tokens.count, 0),
  }
}

/** Leaves out the oldest messages until the rest fits, but keeps the `fewest` newest. */
function dropDownTo(draft: Draft, fewest: number, excess: () => number): void {
  while (excess() > 0 && draft.history.length > fewest) {
    const count = nextCut(draft.history, excess())
    if (draft.history.length - count < fewest) return
    drop(draft, count)
  }
}

function shortenCatchUp(draft: Draft, excess: number): void {
  const { catchUp } = draft
  if (!catchUp) return
  const room = Math.max(0, catchUpSize(catchUp) - excess)
  draft.catchUp = fitCatchUp({ ...catchUp, earlier: catchUp.omitted }, room, leaving => keepPinned(draft, leaving))
}

/** Cuts the text of the trigger. Undefined where too little of it would be left. */
function cutTrigger(trigger: Trigger, room: number, estimator: TokenEstimator): Trigger | undefined {
  // The stored count is of the whole message, also of parts that the text leaves out.
  const tokens = Math.min(trigger.tokens, estimator.count(trigger.text))
  const cut = trimText(trigger.text, { to: room, tokens, estimator, how: 'the log has all of it' })
  if (room < minimalTrigger || cut.tokens === 0) return undefined
  const { message: _, images: __, ...plain } = trigger
  return { ...plain, text: cut.text, tokens: cut.tokens }
}

/** Writes its entries when they are read: there is one for every message, and most requests are only sent. */
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

const minimalTrigger = 40

function fixedSize({ description, checkpoint, state }: Sections): number {
  return sectionSize(description.tokens) + sectionSize(checkpoint?.tokens ?? 0) + sectionSize(state.tokens)
}

function countedIn(
  { description, checkpoint, state }: Sections,
  { context, changes, recall, pinned, history, catchUp, trigger }: Omit<Draft, 'historySize'>,
): Packed['counted'] {
  const sum = (parts: readonly { tokens: number }[]) => parts.reduce((total, { tokens }) => total + tokens, 0)
  const countOf = (messages: readonly Message[]) => messages.reduce((total, { tokens }) => total + tokens.count, 0)
  const behindHistory = sum([state, changes, ...recall]) + countOf(catchUp?.messages ?? [])
  const beforeThat = sum([description, context, trigger]) + (checkpoint?.tokens ?? 0)
  return { all: beforeThat + countOf(pinned) + countOf(history) + behindHistory, behindHistory }
}

/** Shortens the results of the agent's own tools, before the message becomes a mere text. */
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

/** Chooses hits before their neighbours, the best first. A quote too large for the share is skipped. Result in log order. */
function fitRecall(quotes: readonly Quote[], share: number): readonly Quote[] {
  const chosen: Quote[] = []
  const isHit = (quote: Quote) => quote.beside === undefined
  for (const quote of [...quotes.filter(isHit), ...quotes.filter(quote => !isHit(quote))]) {
    const hasHit = isHit(quote) || chosen.some(hit => hit.version === quote.beside)
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

/** Returns the number of oldest messages to leave out next: enough for `excess`, with no call parted from its result. */
function nextCut(history: readonly Message[], excess: number): number {
  let freed = 0
  let count = 0
  while (freed < excess && count < history.length) freed += messageSize(history[count++]!)
  return earliestWholeCut(history, count)
}

/** Returns the number of newest messages that must stay, so that the results in the trigger follow their calls. */
function answeredTail(history: readonly Message[], { message }: Trigger): number {
  const answered = new Set(message?.parts.flatMap(part => (part.type === 'tool-result' ? [part.callId] : [])))
  if (answered.size === 0) return 0
  const first = history.findIndex(({ parts }) =>
    parts.some(part => part.type === 'tool-call' && answered.has(part.callId)),
  )
  return first < 0 ? 0 : history.length - first
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
