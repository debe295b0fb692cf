/** A request while it is fitted into its budget: what is in it now, its size, and the ways to make it smaller. */
import type { Part } from '../../log/events/part.ts'
import type { Message } from '../../log/views/message.ts'
import { partsText } from '../text/part-text.ts'
import { messageSize, noticeTokens, overhead, sectionSize, sizeOf, textSize, wholeSize } from '../text/sizes.ts'
import { countParts, type TokenEstimator } from '../text/tokens.ts'
import { trimText } from '../text/trim.ts'
import { catchUpSize, fitCatchUp, type PackedCatchUp } from './catch-up.ts'
import { blockStarts, positionsIn } from './history-blocks.ts'
import type { LedgerEntry } from './ledger.ts'
import { cutBehindContents } from './reference-contents.ts'
import type { Quote, Sections, TextSection, Trigger } from './sections.ts'
import { earliestWholeCut } from './tool-pairs.ts'

/** Max share of the budget for each of these sections, between 0 and 1. */
export interface Shares {
  context: number
  changes: number
  recall: number
  catchUp: number
}

/** This many of the newest messages keep their tool results whole. */
const freshMessages = 4
const shortResultTokens = 200
const minTriggerTokens = 40
/** Max share of the budget for one standing instruction. A longer one is trimmed. */
export const instructionShare = 0.25
const minInstructionTokens = 40

export class Draft {
  context: TextSection
  changes: TextSection
  recall: readonly Quote[]
  catchUp: PackedCatchUp | undefined
  history: readonly Message[]
  pinned: Message[]
  /** Standing instructions that are in no other section, because their place in the history is left out. Oldest first. */
  standing: Message[]
  omitted: { messages: number; tokens: number }
  trigger: Trigger
  /** Ledger entries of sections that were trimmed or left out. */
  readonly cuts: LedgerEntry[] = []

  readonly #sections: Sections
  readonly #budget: number
  readonly #estimator: TokenEstimator
  readonly #fixedSize: number
  /** Tokens of the window that come before each message of the history, by its version. */
  readonly #positions: ReadonlyMap<number, number>
  #historySize: number

  constructor(
    sections: Sections,
    { budget, estimator, shares }: { budget: number; estimator: TokenEstimator; shares: Shares },
  ) {
    this.#sections = sections
    this.#budget = budget
    this.#estimator = estimator
    const { description, checkpoint, state } = sections
    this.#fixedSize = sectionSize(description.tokens) + sectionSize(checkpoint?.tokens ?? 0) + sectionSize(state.tokens)
    this.pinned = [...sections.pinned]
    this.standing = []
    this.trigger = sections.trigger
    this.history = sections.history
    this.#historySize = sizeOf(sections.history)
    this.#positions = positionsIn(sections.history, sections.tokensBefore)
    this.omitted = sections.earlier
    this.context = this.#capped('context', sections.context, Math.floor(budget * shares.context))
    this.changes = this.#capped('changes', sections.changes, Math.floor(budget * shares.changes))
    this.recall = quotesThatFit(sections.recall, Math.floor(budget * shares.recall))
    this.#keepStanding(sections.standing)
    this.catchUp = fitCatchUp(sections.catchUp, Math.floor(budget * shares.catchUp), leaving => this.#keep(leaving))
  }

  get size(): number {
    return (
      this.#fixedSize +
      sizeOf(this.pinned) +
      sizeOf(this.standing) +
      sectionSize(this.context.tokens) +
      sectionSize(this.changes.tokens) +
      quotesSize(this.recall) +
      catchUpSize(this.catchUp) +
      textSize(this.trigger) +
      this.#historySize +
      (this.omitted.messages > 0 ? sectionSize(noticeTokens) : 0)
    )
  }

  /** Tokens over the budget; 0 when it fits. */
  get excess(): number {
    return Math.max(0, this.size - this.#budget)
  }

  /** Shortens old tool results, the oldest first and in blocks, until the rest fits. The newest stay whole. */
  shortenOldResults(): void {
    if (!this.history.some(({ parts }) => parts.some(part => part.type === 'tool-result'))) return
    const end = Math.max(0, this.history.length - freshMessages)
    const messages = [...this.history]
    let shortened = 0
    for (const start of [...this.#blockStarts().filter(index => index < end), end]) {
      for (; shortened < start; shortened++)
        messages[shortened] = shortenResults(messages[shortened]!, shortResultTokens, this.#estimator)
      this.history = [...messages]
      this.#historySize = sizeOf(messages)
      if (this.excess === 0) return
    }
  }

  shrink(section: 'context' | 'changes'): void {
    const { text, tokens } = this[section]
    if (tokens === 0) return
    const to = Math.max(0, tokens - this.excess)
    const cut = trimText(text, {
      to,
      tokens,
      estimator: this.#estimator,
      how: 'to stay inside the budget',
      keep: 'beginning',
    })
    const fate = cut.tokens === 0 ? 'left-out' : 'trimmed'
    this.cuts.push({ what: section, fate, tokens: cut.tokens, why: 'the budget is full' })
    this[section] = { text: cut.text, tokens: cut.tokens }
  }

  shrinkCatchUp(): void {
    if (!this.catchUp) return
    const share = Math.max(0, catchUpSize(this.catchUp) - this.excess)
    this.catchUp = fitCatchUp({ ...this.catchUp, earlier: this.catchUp.omitted }, share, leaving => this.#keep(leaving))
  }

  /** Keeps at most this many of the newest messages. */
  keepNewest(maxMessages: number): void {
    if (this.history.length + this.omitted.messages <= maxMessages) return
    this.#leaveOut(earliestWholeCut(this.history, Math.max(0, this.history.length - maxMessages)))
  }

  /**
   * Leaves out the oldest messages until the rest fits. At least the newest `fewest` messages stay. The others go in
   * blocks, so that the next requests begin with the same messages.
   */
  leaveOutOldest(fewest: number): void {
    do {
      const count = this.#nextCut(fewest)
      if (count === 0) return
      this.#leaveOut(count)
    } while (this.excess > 0)
  }

  /**
   * Returns how many of the newest messages must stay, so that tool results in the trigger keep the calls they answer.
   * 0 when the trigger has no results.
   */
  answeredMessages(): number {
    const { message } = this.trigger
    const answered = new Set(message?.parts.flatMap(part => (part.type === 'tool-result' ? [part.callId] : [])))
    if (answered.size === 0) return 0
    const first = this.history.findIndex(({ parts }) =>
      parts.some(part => part.type === 'tool-call' && answered.has(part.callId)),
    )
    return first < 0 ? 0 : this.history.length - first
  }

  /** Shortens tool results in the trigger. Comes before `trimTrigger`, which makes the trigger a plain text. */
  shortenTriggerResults(): void {
    const { message } = this.trigger
    if (!message) return
    const room = this.trigger.tokens - this.excess
    const share = Math.floor(room / message.parts.length) - overhead.part
    if (share < minTriggerTokens) return
    const shortened = shortenResults(message, share, this.#estimator)
    const text = partsText(shortened.parts)
    this.trigger = { ...this.trigger, text, tokens: wholeSize(shortened), message: shortened }
  }

  /** Trims standing instructions, the largest first. */
  trimStanding(): void {
    const bySize = [...this.standing].sort((a, b) => b.tokens.count - a.tokens.count)
    for (const message of bySize) {
      if (this.excess === 0) return
      const to = Math.max(minInstructionTokens, message.tokens.count - this.excess)
      this.standing = this.standing.map(other => (other === message ? this.#trimmed(other, to) : other))
    }
  }

  /** Trims the trigger, as a plain text. Returns false when not even its shortest form fits. */
  trimTrigger(): boolean {
    const { text } = this.trigger
    const room = this.trigger.tokens - this.excess
    // The stored count covers all parts of the message, also those that are not sent.
    const tokens = Math.min(this.trigger.tokens, this.#estimator.count(text))
    const cut = trimText(text, { to: room, tokens, estimator: this.#estimator, how: 'the log has all of it' })
    if (room < minTriggerTokens || cut.tokens === 0) return false
    const { message: _, images: __, ...plain } = this.trigger
    this.trigger = { ...plain, text: cut.text, tokens: cut.tokens }
    return this.excess === 0
  }

  /**
   * Returns how many of the oldest messages to leave out next: enough to fit, and the rest of their block too if at least
   * `fewest` messages stay. 0 when none may go.
   */
  #nextCut(fewest: number): number {
    const max = this.history.length - fewest
    let count = 0
    for (let freed = 0; freed < this.excess && count < this.history.length; count++)
      freed += messageSize(this.history[count]!)
    if (count === 0 && this.omitted.messages === 0) return 0
    const start = this.#blockStarts().find(index => index >= count) ?? this.history.length
    const toBlock = earliestWholeCut(this.history, start)
    if (toBlock <= max && toBlock < this.history.length) return toBlock
    const enough = earliestWholeCut(this.history, count)
    return enough <= max ? enough : 0
  }

  #blockStarts(): number[] {
    const room = this.#budget - (this.size - this.#historySize)
    return blockStarts(this.history, { positions: this.#positions, room })
  }

  #leaveOut(min: number): void {
    const count = min > 0 ? cutBehindContents(this.history, min) : min
    const leaving = this.history.slice(0, count)
    this.history = this.history.slice(count)
    this.#historySize -= sizeOf(leaving)
    const dropped = this.#keep(leaving)
    this.omitted = {
      messages: this.omitted.messages + dropped.length,
      tokens: this.omitted.tokens + dropped.reduce((sum, message) => sum + message.tokens.count, 0),
    }
  }

  /** Keeps pinned messages and standing instructions, without their place. Returns the others, which leave the request. */
  #keep(leaving: readonly Message[]): Message[] {
    const isStanding = ({ version }: Message) => this.#sections.instructions.has(version)
    this.pinned = [...this.pinned, ...leaving.filter(message => message.pinned)]
    this.#keepStanding(leaving.filter(message => !message.pinned && isStanding(message)))
    return leaving.filter(message => !message.pinned && !isStanding(message))
  }

  #keepStanding(messages: readonly Message[]): void {
    const max = Math.max(minInstructionTokens, Math.floor(this.#budget * instructionShare))
    const standing = messages.map(message => (message.tokens.count > max ? this.#trimmed(message, max) : message))
    this.standing = [...this.standing, ...standing].sort((a, b) => a.version - b.version)
  }

  #trimmed(message: Message, to: number): Message {
    const text = partsText(message.parts)
    const tokens = this.#estimator.count(text)
    const cut = trimText(text, { to, tokens, estimator: this.#estimator, how: 'the log has all of it' })
    return {
      ...message,
      parts: [{ type: 'text', text: cut.text }],
      tokens: { count: cut.tokens, by: this.#estimator.name },
    }
  }

  #capped(what: string, section: TextSection, max: number): TextSection {
    if (section.tokens <= max) return section
    const cut = trimText(section.text, {
      to: max,
      tokens: section.tokens,
      estimator: this.#estimator,
      how: 'read the files for the rest',
      keep: 'beginning',
    })
    const why = `it has ${section.tokens} tokens and its share is ${max}`
    this.cuts.push({ what, fate: 'trimmed', tokens: sectionSize(cut.tokens), why })
    return { text: cut.text, tokens: cut.tokens }
  }
}

function quotesSize(quotes: readonly Quote[]): number {
  if (quotes.length === 0) return 0
  return overhead.section + quotes.reduce((sum, quote) => sum + textSize(quote), 0)
}

/** Hits come before their neighbours, the best first. A quote too large for the share is passed over. */
function quotesThatFit(quotes: readonly Quote[], share: number): readonly Quote[] {
  const chosen: Quote[] = []
  const isHit = (quote: Quote) => quote.beside === undefined
  for (const quote of [...quotes.filter(isHit), ...quotes.filter(quote => !isHit(quote))]) {
    const hasHit = isHit(quote) || chosen.some(({ version }) => version === quote.beside)
    if (hasHit && quotesSize([...chosen, quote]) <= share) chosen.push(quote)
  }
  return chosen.sort((a, b) => a.version - b.version)
}

/** Shortens the tool results of an old message. The log keeps them whole; a marker says how to read them. */
function shortenResults(message: Message, to: number, estimator: TokenEstimator): Message {
  if (!message.parts.some(part => part.type === 'tool-result')) return message
  let shortened = false
  const parts = message.parts.map((part): Part => {
    if (part.type !== 'tool-result') return part
    const text = typeof part.output === 'string' ? part.output : JSON.stringify(part.output)
    // Characters by four is a lower bound good enough to skip what is short anyway.
    if (text.length / 4 <= to) return part
    const tokens = estimator.count(text)
    const cut = trimText(text, { to, tokens, estimator, how: `expand message ${message.version} for all of it` })
    if (cut.cut === 0) return part
    shortened = true
    return { ...part, output: cut.text }
  })
  if (!shortened) return message
  return { ...message, parts, tokens: { count: countParts(parts, estimator), by: estimator.name } }
}
