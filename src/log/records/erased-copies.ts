/**
 * Facts that were rewritten because they repeated erased content. The chain keeps the digests of their first content. The
 * event of the erasure, later in the same chain, has the digests of the rewritten content and so proves it.
 */
import type { ConversationEvent, StoredEvent } from '../events/event.ts'
import { digestOf, encode, freshSalt } from './record.ts'

/** The facts that an erase rewrites together with the message. */
export interface Copies {
  /** The last version that was searched. If later facts may repeat the message, nothing is erased. */
  upTo: number
  facts: ReadonlyArray<{ version: number; event: ConversationEvent }>
}

/** The types of facts that may repeat content of messages. */
export const repeatingTypes: ReadonlySet<string> = new Set(['checkpoint.taken'] satisfies ConversationEvent['type'][])

export interface RewrittenRow {
  version: number
  type: string
  body: string
  salt: Uint8Array
  /** Base64, as in the event of the erasure. */
  digest: string
}

export function rewrittenRow({ version, event }: Copies['facts'][number]): RewrittenRow {
  const salt = freshSalt()
  const { type, body } = encode(event)
  return { version, type, body, salt, digest: digestOf(salt, body).toString('base64') }
}

/** Checks rewritten facts against the erasures behind them. Takes the events of a conversation in order. */
export class RewrittenProof {
  /** Digests that no erasure has proved yet, by version. */
  readonly #open = new Map<number, string>()

  /** Takes a fact that does not match its digest. Returns true when a later erasure may prove it. */
  defers({ type, version, salt, body }: { type: string; version: number; salt: Uint8Array; body: string }): boolean {
    if (!repeatingTypes.has(type)) return false
    this.#open.set(version, digestOf(salt, body).toString('base64'))
    return true
  }

  take(event: StoredEvent): void {
    if (event.type !== 'message.erased' || this.#open.size === 0) return
    for (const { version, digest } of event.rewritten ?? []) {
      if (this.#open.get(version) === digest) this.#open.delete(version)
    }
  }

  /** Versions of facts that no erasure proved. */
  get unproved(): number[] {
    return [...this.#open.keys()]
  }
}
