/** Steps that every store takes with a proposal before it is decided. */
import { InvalidInput, NotFound, VersionConflict } from '../../errors.ts'
import type { Once, Proposal } from '../../log/event-log.ts'
import { idProblem } from '../../log/events/id.ts'
import type { SessionInUse } from '../../log/views/heads.ts'
import type { SessionHead } from '../../log/views/session.ts'

/** Refuses NUL bytes and lone surrogates in texts that have a column of their own. The body escapes them. */
export function refuseInvalidText({ project, conversation, origin, once }: Proposal): void {
  refuseInvalid('project', project)
  if (conversation !== 'of-session') refuseInvalid('conversationId', conversation.id)
  refuseInvalid('actor', origin.actor)
  refuseInvalid('channel', origin.channel)
  if (origin.requestId !== undefined) refuseInvalid('requestId', origin.requestId)
  if (once) refuseInvalid('idempotencyKey', once.key)
}

function refuseInvalid(field: string, value: string): void {
  const problem = idProblem(value)
  if (problem) throw new InvalidInput(field, problem)
}

/** Returns the conversation that a proposal names and that was not found, by its refusal: it may have been purged. */
export function missingConversation({ conversation }: Proposal, refusal: unknown): string | undefined {
  if (conversation === 'of-session') return undefined
  const { id } = conversation
  const isMissing =
    refusal instanceof NotFound
      ? refusal.facts.what === 'conversation' && refusal.facts.id === id
      : refusal instanceof VersionConflict && refusal.actual === 0
  return isMissing ? id : undefined
}

/** A session for a decision. Its last use is read only if the decision asks for it. */
export class LiveSession implements SessionInUse {
  readonly head: SessionHead
  readonly #lastActiveAt: () => number

  constructor(head: SessionHead, lastActiveAt: () => number) {
    this.head = head
    this.#lastActiveAt = lastActiveAt
  }

  get lastActiveAtMs(): number {
    return this.#lastActiveAt()
  }
}

/**
 * Replaces the digest of a call whose message was erased: the digest has no salt, so the content could be guessed from it.
 * From then on the key alone identifies the call.
 */
export const wipedDigest = ''

/** True when a key that was recorded with this digest belongs to this call. */
export function isSameCall(stored: string, { digest }: Once): boolean {
  return stored === digest || stored === wipedDigest
}
