/**
 * The port for what messages refer to. A resolver gives the content of a reference as text and says where it comes from.
 *
 * It may be slow, fail, hang or give too much: the reference then stays what it is, or its content is cut, and the
 * request says so. It is asked at most once at a time for one reference of a conversation.
 */
import type { Reference } from '../../log/events/reference.ts'

export interface Resolved {
  text: string
  /** Its origin in a line: an address, a path, a signer. */
  source: string
  title?: string
}

export interface ResolverOptions {
  project: string
  /** The conversation whose message refers to it. */
  conversationId: string
  /** Aborted when the time is over. */
  signal: AbortSignal
}

export interface ReferenceResolver {
  readonly kinds: readonly string[]
  /**
   * @returns undefined when there is no such thing; the next resolver of the kind is asked then
   * @throws with a message that says why it cannot be had; it goes into the request in one line
   */
  resolve(reference: Reference, options: ResolverOptions): Promise<Resolved | undefined>
}
