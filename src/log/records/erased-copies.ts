/**
 * Facts that were written anew because they repeated something erased. Their digests, which the chain is made of, are
 * those of what they said before; that what they say now is the store's own doing is proved by the fact of the erasure,
 * which stands further on in the same chain and has the digest of it.
 */
import type { ConversationEvent, StoredEvent } from '../events/event.ts'
import { digestOf, encode, freshSalt } from './record.ts'

/** What an erase writes anew beside the message itself. */
export interface Copies {
  /** Facts up to this version were looked at; if there are more that may repeat it, nothing is erased. */
  upTo: number
  facts: ReadonlyArray<{ version: number; event: ConversationEvent }>
}

/** The types of facts that may repeat what messages said. */
export const repeatingTypes: ReadonlySet<string> = new Set(['checkpoint.taken'] satisfies ConversationEvent['type'][])

export interface RewrittenRow {
  version: number
  type: string
  body: string
  salt: Uint8Array
  /** Base64, as the fact of the erasure has it. */
  digest: string
}

export function rewrittenRow({ version, event }: Copies['facts'][number]): RewrittenRow {
  const salt = Buffer.from(freshSalt())
  const { type, body } = encode(event)
  return { version, type, body, salt, digest: digestOf(salt, body).toString('base64') }
}

/** Looks through the events of a conversation, in order. */
export class RewrittenProof {
  /** What waits for its proof, by version. */
  readonly #open = new Map<number, string>()

  /** A fact that is not what its digest says: true if something further on may prove it. */
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

  /** Versions that nothing proved. */
  get unproved(): number[] {
    return [...this.#open.keys()]
  }
}
