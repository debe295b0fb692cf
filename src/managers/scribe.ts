/** Writes messages down: checks them, counts them, gives them an id. Shared by both managers. */
import { type CheckedMessage, checkMessage, type MessageInput, type Placed } from '../commands/message.ts'
import { redactMessage } from '../commands/redaction.ts'
import { NotFound } from '../errors.ts'
import type { Appended } from '../log/event-log.ts'
import { countForGood, type TokenEstimator } from '../request/tokens.ts'
import { type Message, messageOf } from '../views/message.ts'

export interface Scribe {
  /** At once, unless the counter has to be loaded or asked: every append waits for it. */
  prepare(input: MessageInput): Placed | Promise<Placed>
}

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
  return {
    prepare(input) {
      const messageId = newId()
      const checked = checkMessage(input, { maxMessageBytes, callId: `call-${messageId}` })
      const message = redact ? redactMessage(checked) : checked
      const counter = estimator()
      return counter instanceof Promise
        ? counter.then(known => counted(message, messageId, known))
        : counted(message, messageId, counter)
    },
  }
}

function counted(message: CheckedMessage, messageId: string, counter: TokenEstimator): Placed | Promise<Placed> {
  const tokens = countForGood(message.parts, counter)
  return tokens instanceof Promise
    ? tokens.then(known => ({ message, messageId, tokens: known }))
    : { message, messageId, tokens }
}

/** The message an append recorded. */
export function recordedMessage(appended: Appended): Message {
  for (const recorded of appended.events) {
    const message = messageOf(recorded)
    if (message) return message
  }
  throw new NotFound('message', '', 'The call recorded none.')
}
