/**
 * The catch-up: messages after the agent's cursor, the newest that fit its share, contiguous, and the number of the
 * others.
 */
import type { Message } from '../../log/views/message.ts'
import { messageSize, noticeTokens, overhead, sizeOf } from '../text/sizes.ts'
import type { LedgerEntry } from './ledger.ts'
import { cutBehindContents, oldestVersion } from './reference-contents.ts'
import type { CatchUp, HandOff, Trigger } from './sections.ts'

export interface PackedCatchUp {
  messages: readonly Message[]
  omitted: { messages: number; tokens: number }
  since: number
  handOff?: HandOff
}

export function catchUpSize(catchUp: PackedCatchUp | undefined): number {
  if (!catchUp || isEmpty(catchUp)) return 0
  return overhead.section + noticeTokens + handOffSize(catchUp.handOff) + sizeOf(catchUp.messages)
}

/** True when nothing came after the cursor. */
export function isEmpty({ messages, omitted, handOff }: PackedCatchUp): boolean {
  return messages.length === 0 && omitted.messages === 0 && !handOff
}

function handOffSize(handOff: HandOff | undefined): number {
  return handOff ? handOff.tokens + overhead.message : 0
}

/**
 * Fits the newest messages into `most` tokens. `keep` is given the messages that leave the catch-up, finds another place
 * for some, and returns those that leave the request.
 */
export function fitCatchUp(
  catchUp: CatchUp | undefined,
  most: number,
  keep: (leaving: readonly Message[]) => readonly Message[],
): PackedCatchUp | undefined {
  if (!catchUp) return undefined
  const { messages, earlier, since, handOff } = catchUp
  let first = messages.length
  let size = overhead.section + noticeTokens + handOffSize(handOff)
  while (first > 0 && size + messageSize(messages[first - 1]!) <= most) size += messageSize(messages[--first]!)
  if (first > 0) first = cutBehindContents(messages, first)
  const dropped = keep(messages.slice(0, first))
  return {
    messages: messages.slice(first),
    omitted: {
      messages: earlier.messages + dropped.length,
      tokens: earlier.tokens + dropped.reduce((sum, message) => sum + message.tokens.count, 0),
    },
    since,
    ...(handOff && { handOff }),
  }
}

/** Returns the oldest version that the agent is sent, in the catch-up or as the trigger. What is left out is older. */
export function firstTold({ messages }: Pick<PackedCatchUp, 'messages'>, { version }: Trigger): number | undefined {
  const oldest = oldestVersion(messages)
  return oldest === undefined || version === undefined ? (oldest ?? version) : Math.min(oldest, version)
}

export function accountCatchUp(catchUp: PackedCatchUp, trigger: Trigger, note: (entry: LedgerEntry) => void): void {
  const { messages, omitted, since, handOff } = catchUp
  if (isEmpty(catchUp)) return
  note({ what: 'catch-up', fate: 'kept', tokens: overhead.section + noticeTokens, why: 'its heading' })
  if (handOff) note({ what: 'catch-up', fate: 'kept', tokens: handOffSize(handOff), why: 'the phase was handed over' })
  if (omitted.messages > 0) {
    const first = firstTold(catchUp, trigger) ?? since + 2
    note({
      what: 'catch-up',
      fate: 'left-out',
      tokens: omitted.tokens,
      why: 'more came than its share holds',
      range: { from: since + 1, to: Math.max(since + 1, first - 1), messages: omitted.messages },
    })
  }
  for (const message of messages) {
    note({
      what: 'catch-up',
      fate: 'kept',
      tokens: messageSize(message),
      why: 'it came while the agent was away',
      versions: [message.version],
    })
  }
}
