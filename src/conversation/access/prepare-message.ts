/** Prepares messages for the log: checks them, counts their tokens, gives them an id. Used by both managers. */
import { setImmediate as breathe, setTimeout as sleep } from 'node:timers/promises'
import { InvalidInput } from '../../errors.ts'
import { checkMessage, type PreparedMessage } from '../../log/commands/message.ts'
import { type MessageInput, maxTokens } from '../../log/commands/message-input.ts'
import { redactMessage } from '../../log/commands/redaction.ts'
import type { Appended } from '../../log/event-log.ts'
import type { TokenCount } from '../../log/events/message.ts'
import { type Message, messageOf } from '../../log/views/message.ts'
import { countForGood, type TokenEstimator } from '../../request/text/tokens.ts'

export interface Scribe {
  prepare(input: MessageInput): Promise<PreparedMessage>
  /** Resolves when messages that wait for their count are on their way into the log, or after a while: a counter may hang. */
  settled(): Promise<void>
}

const maxWaitMs = 5_000

export function scribe({
  maxMessageBytes,
  newId,
  estimator,
  redact = false,
}: {
  maxMessageBytes: number
  newId: () => string
  estimator: () => TokenEstimator | Promise<TokenEstimator>
  /** Takes secrets of known shapes out first. */
  redact?: boolean
}): Scribe {
  const counts = new Set<Promise<unknown>>()

  /** The first exact count waits for its tables. A provider's count may take any time. */
  async function tracked<T>(counted: Promise<T>): Promise<T> {
    counts.add(counted)
    try {
      return await counted
    } finally {
      counts.delete(counted)
    }
  }

  return {
    async prepare(input) {
      const messageId = newId()
      const checked = checkMessage(input, { maxMessageBytes, callId: `call-${messageId}` })
      const message = redact ? redactMessage(checked) : checked
      const counting = estimator()
      const counter = counting instanceof Promise ? await tracked(counting) : counting
      const tokens = countForGood(message.parts, counter)
      return { message, messageId, tokens: wholeCount(tokens instanceof Promise ? await tracked(tokens) : tokens) }
    },
    async settled() {
      if (counts.size === 0) return
      const tooLong = new AbortController()
      await Promise.race([
        Promise.allSettled(counts),
        sleep(maxWaitMs, undefined, { signal: tooLong.signal }).catch(() => undefined),
      ])
      tooLong.abort()
      // Lets the callers continue.
      await breathe()
    },
  }
}

/** A caller's estimator may return anything, and a bad count would stay in every later sum. */
function wholeCount(tokens: TokenCount): TokenCount {
  const count = Math.ceil(tokens.count)
  if (!(count >= 0 && count <= maxTokens))
    throw new InvalidInput('tokens', `the estimator ${tokens.by} counted ${tokens.count}; it must be 0 to ${maxTokens}`)
  return count === tokens.count ? tokens : { ...tokens, count }
}

/** The message an append recorded. */
export function recordedMessage(appended: Appended): Message {
  const [message] = recordedMessages(appended)
  if (message) return message
  throw new Error('Internal error: the call recorded no message.')
}

export function recordedMessages(appended: Appended): Message[] {
  return appended.events.flatMap(recorded => messageOf(recorded) ?? [])
}
