/**
 * Messages that were read before: an agent is sent nearly the same window at every step, and sending and decoding it again
 * takes longer than all the rest of a request.
 *
 * Of each lane a stretch of versions without holes is kept. Rows of messages change by erasing alone, and an erasure is an
 * event of the same conversation: whoever asks for what came behind the stretches also asks, in the same question, whether
 * there was one since; if so, all that is known of the conversation is dropped. The least lately used conversations are
 * let go first.
 */
import { freezeInputs } from '../../log/freeze.ts'
import type { Message } from '../../log/views/message.ts'

/** A message of a lane, with the characters that its stored body has. */
export interface ReadMessage {
  message: Message
  lane: number
  size: number
}

/** Every message of a lane after `from` and up to `upTo`. Never changed: what is read makes a new one. */
export interface Stretch {
  readonly from: number
  readonly upTo: number
  /** Oldest first. */
  readonly messages: readonly ReadMessage[]
}

/** What is known of some lanes at one moment. */
export interface KnownLanes {
  conversation: number
  /** Where it comes from; nowhere, when nothing is known. */
  known: Known | undefined
  /** By lane. A lane of which nothing is known that helps has an empty stretch. */
  stretches: ReadonlyMap<number, Stretch>
  isCold: boolean
}

interface Known {
  stretches: Map<number, Stretch>
  /** Up to this version there was no erasure since any of it was read. */
  checkedUpTo: number
  size: number
}

/** Characters of stored bodies, some forty windows of 100,000 tokens. In memory they take about three times that. */
const mostCharacters = 16_000_000
/** What an entry takes beside its body. */
const entryCharacters = 300
/** A stretch may grow to so many times what is asked for before its beginning is let go. */
const mostOfLimit = 2

export class KnownMessages {
  readonly #conversations = new Map<number, Known>()
  #size = 0

  /** What is known of lanes, for a window that starts behind a version. */
  lanes(conversation: number, lanes: readonly number[], start: number): KnownLanes {
    const known = this.#conversations.get(conversation)
    const stretches = new Map<number, Stretch>()
    let isCold = true
    for (const lane of lanes) {
      const stretch = known?.stretches.get(lane)
      const helps = stretch !== undefined && start < stretch.upTo
      stretches.set(lane, helps ? stretch : { from: start, upTo: start, messages: [] })
      if (helps) isCold = false
    }
    return { conversation, known, stretches, isCold }
  }

  /**
   * Keeps what was read behind and before stretches.
   *
   * @returns false when somebody else's answer came in between: then what was read may not fit to what is known now
   */
  keep(
    before: KnownLanes,
    next: ReadonlyMap<number, Stretch>,
    { checkedUpTo, limit }: { checkedUpTo: number; limit: number },
  ): boolean {
    const { conversation } = before
    // It was forgotten, or begun, meanwhile: then nobody has looked for erasures in between.
    if (this.#conversations.get(conversation) !== before.known) return false
    const known = before.known ?? { stretches: new Map(), checkedUpTo, size: 0 }
    for (const [lane, { messages }] of before.stretches) {
      if (messages.length > 0 && known.stretches.get(lane)?.messages !== messages) return false
    }
    this.#conversations.delete(conversation)
    this.#conversations.set(conversation, known)
    known.checkedUpTo = Math.max(known.checkedUpTo, checkedUpTo)
    for (const [lane, stretch] of next) {
      const kept = trimmed(stretch, limit)
      const last = known.stretches.get(lane)
      known.stretches.set(lane, kept)
      if (last?.messages === kept.messages) continue
      this.#count(known, last, -1)
      this.#count(known, kept, 1)
    }
    this.#letGo()
    return true
  }

  forget(conversation: number): void {
    this.#size -= this.#conversations.get(conversation)?.size ?? 0
    this.#conversations.delete(conversation)
  }

  #count(known: Known, stretch: Stretch | undefined, sign: 1 | -1): void {
    let size = 0
    for (const one of stretch?.messages ?? []) size += one.size + entryCharacters
    known.size += sign * size
    this.#size += sign * size
  }

  #letGo(): void {
    for (const oldest of this.#conversations.keys()) {
      if (this.#size <= mostCharacters) break
      this.forget(oldest)
    }
  }
}

/**
 * Stretches with what was read behind them, newest first, as of a version. Where it was as much as was asked for, nothing
 * is known of what lies before it, and a stretch that ended earlier is given up.
 */
export function withNewer(
  stretches: ReadonlyMap<number, Stretch>,
  read: readonly ReadMessage[],
  { upTo, isAll }: { upTo: number; isAll: boolean },
): Map<number, Stretch> {
  const gap = isAll ? 0 : read.at(-1)!.message.version - 1
  const next = new Map<number, Stretch>()
  for (const [lane, { from, upTo: before, messages }] of stretches) {
    const newer = read.filter(one => one.lane === lane).reverse()
    for (const { message } of newer) freezeInputs(message)
    // A window may start behind the end of the log; what is there later is not known then.
    const end = messages.length > 0 ? Math.max(before, upTo) : upTo
    if (gap > before) next.set(lane, { from: gap, upTo: end, messages: newer })
    else {
      const all = newer.length === 0 ? messages : [...messages, ...newer]
      next.set(lane, { from: Math.min(from, end), upTo: end, messages: all })
    }
  }
  return next
}

/** The same with what was read before them, newest first, behind `start`. */
export function withOlder(
  stretches: ReadonlyMap<number, Stretch>,
  read: readonly ReadMessage[],
  { start, isAll }: { start: number; isAll: boolean },
): Map<number, Stretch> {
  const bottom = isAll ? start : read.at(-1)!.message.version - 1
  const next = new Map<number, Stretch>()
  for (const [lane, { from, upTo, messages }] of stretches) {
    const older = read.filter(one => one.lane === lane).reverse()
    for (const { message } of older) freezeInputs(message)
    next.set(lane, {
      from: Math.min(from, bottom),
      upTo,
      messages: older.length === 0 ? messages : [...older, ...messages],
    })
  }
  return next
}

/** The version behind which all stretches have everything. */
export function floorOf(stretches: ReadonlyMap<number, Stretch>, start: number): number {
  let floor = start
  for (const { from } of stretches.values()) if (from > floor) floor = from
  return floor
}

/** Messages of all stretches together between two versions, neither included, oldest first. */
export function messagesBetween(stretches: ReadonlyMap<number, Stretch>, after: number, before: number): Message[] {
  const all: Message[] = []
  let lanes = 0
  for (const { messages } of stretches.values()) {
    const end = firstFrom(messages, before)
    const begin = firstFrom(messages, after + 1)
    if (begin < end) lanes++
    for (let index = begin; index < end; index++) all.push(messages[index]!.message)
  }
  return lanes > 1 ? all.sort((a, b) => a.version - b.version) : all
}

/** The index of the first that is not before a version. */
function firstFrom(messages: readonly ReadMessage[], version: number): number {
  let low = 0
  let high = messages.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (messages[middle]!.message.version < version) low = middle + 1
    else high = middle
  }
  return low
}

function trimmed(stretch: Stretch, limit: number): Stretch {
  const { messages, upTo } = stretch
  if (messages.length <= mostOfLimit * limit) return stretch
  const kept = messages.slice(-limit)
  return { from: messages[messages.length - limit - 1]!.message.version, upTo, messages: kept }
}
