/**
 * A lane: the messages of one conversation that have the same audience and are of the same kind.
 *
 * Each lane carries running sums, so the size of any window is a few subtractions. A session sees some lanes and not
 * others; which ones, `visibility.ts` alone decides.
 */
import { InvalidInput } from '../../errors.ts'
import { type Audience, audienceKey } from '../events/audience.ts'
import type { StoredEvent } from '../events/event.ts'
import type { Role } from '../events/message.ts'

export const laneKinds = ['talk', 'system', 'internal'] as const
/**
 * `talk`: what a person reads in a chat. `system`: messages with that role. `internal`: messages with the flag
 * `internal`, which hides them from the chat; agents see them if the audience says so.
 */
export type LaneKind = (typeof laneKinds)[number]

export interface Lane {
  /** The key of the audience: `audienceKey`. */
  audience: string
  kind: LaneKind
}

/** Running totals of a lane, up to and including some message. */
export interface LaneSums {
  messages: number
  /** Size of the contents. */
  tokens: number
  /** Tokens as providers reported them. */
  input: number
  output: number
}

export const noSums: LaneSums = { messages: 0, tokens: 0, input: 0, output: 0 }

export function addSums(a: LaneSums, b: LaneSums): LaneSums {
  return {
    messages: a.messages + b.messages,
    tokens: a.tokens + b.tokens,
    input: a.input + b.input,
    output: a.output + b.output,
  }
}

/** The largest exact number. Beyond it the share of one message could not be computed. */
export const largestSum = Number.MAX_SAFE_INTEGER

/**
 * The sums of a lane with one message more.
 *
 * @throws {InvalidInput} when a sum is too large to be exact
 */
export function grownSums(sums: LaneSums, adds: LaneSums): LaneSums {
  const grown = addSums(sums, adds)
  if (grown.tokens <= largestSum && grown.input <= largestSum && grown.output <= largestSum) return grown
  const field = !(grown.tokens <= largestSum) ? 'tokens' : !(grown.input <= largestSum) ? 'usage.input' : 'usage.output'
  throw new InvalidInput(field, `the conversation total would exceed ${largestSum}`)
}

export function subtractSums(a: LaneSums, b: LaneSums): LaneSums {
  return {
    messages: a.messages - b.messages,
    tokens: a.tokens - b.tokens,
    input: a.input - b.input,
    output: a.output - b.output,
  }
}

function laneKindOf(message: { role: Role; internal?: boolean | undefined }): LaneKind {
  return message.internal ? 'internal' : message.role === 'system' ? 'system' : 'talk'
}

/** Returns the lane of a message and what it adds to the sums; undefined for other events. */
export function laneOf(event: StoredEvent): { lane: Lane; audience: Audience; adds: LaneSums } | undefined {
  if (event.type !== 'message.added') return undefined
  return {
    lane: { audience: audienceKey(event.audience), kind: laneKindOf(event) },
    audience: event.audience,
    adds: {
      messages: 1,
      tokens: event.tokens.count,
      input: event.usage?.input ?? 0,
      output: event.usage?.output ?? 0,
    },
  }
}
