/**
 * Messages that were read before: an agent is sent nearly the same window at every step, and sending and decoding it again
 * takes longer than all the rest of a request.
 *
 * Only those of a stretch of versions that was read lately are kept, with the checksums of their rows. The server says
 * which messages a window has and what their checksums are; a message whose row was changed, which erasing alone does, has
 * another one and is read again. The least lately used conversations are let go first.
 */
import { freezeInputs } from '../../log/freeze-inputs.ts'
import type { Message } from '../../views/message.ts'

interface Known {
  messages: Map<number, { message: Message; crc: number }>
  first: number
  last: number
  size: number
}

/** Characters of stored bodies, some forty windows of 100,000 tokens. In memory they take about three times that. */
const mostCharacters = 16_000_000
/** What an entry takes beside its body. */
const entryCharacters = 300

export class KnownMessages {
  readonly #conversations = new Map<number, Known>()
  #size = 0

  /** From the first to the last version that is known, with holes perhaps; an empty stretch when nothing is. */
  stretch(conversation: number): [first: number, last: number] {
    const { first, last } = this.#conversations.get(conversation) ?? { first: 1, last: 0 }
    return [first, last]
  }

  find(conversation: number, version: number, crc: number): Message | undefined {
    const one = this.#conversations.get(conversation)?.messages.get(version)
    return one?.crc === crc ? one.message : undefined
  }

  keep(conversation: number, read: ReadonlyArray<{ message: Message; crc: number; size: number }>): void {
    const known = this.#conversations.get(conversation) ?? { messages: new Map(), first: 0, last: 0, size: 0 }
    this.#conversations.delete(conversation)
    this.#conversations.set(conversation, known)
    for (const { message, crc, size } of read) {
      const { version } = message
      freezeInputs(message)
      if (!known.messages.has(version)) {
        known.size += size + entryCharacters
        this.#size += size + entryCharacters
      }
      known.messages.set(version, { message, crc })
      known.first = known.first === 0 ? version : Math.min(known.first, version)
      known.last = Math.max(known.last, version)
    }
    for (const [oldest, { size }] of this.#conversations) {
      if (this.#size <= mostCharacters) break
      this.#conversations.delete(oldest)
      this.#size -= size
    }
  }
}
