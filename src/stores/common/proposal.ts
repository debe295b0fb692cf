/** What every store does with a proposal before it is decided: refuses what cannot be stored, offers the heads. */
import { InvalidInput, NotFound, VersionConflict } from '../../errors.ts'
import type { Once, Proposal } from '../../log/event-log.ts'
import { idProblem } from '../../log/events/id.ts'
import type { SessionInUse } from '../../log/views/heads.ts'
import type { SessionHead } from '../../log/views/session.ts'

/** Columns take no NUL bytes and no lone surrogates: what stands in one beside the body must be well formed. */
export function refuseOddText({ project, conversation, origin, once }: Proposal): void {
  refuseOdd('project', project)
  if (conversation !== 'of-session') refuseOdd('conversationId', conversation.id)
  refuseOdd('actor', origin.actor)
  refuseOdd('channel', origin.channel)
  if (origin.requestId !== undefined) refuseOdd('requestId', origin.requestId)
  if (once) refuseOdd('idempotencyKey', once.key)
}

function refuseOdd(field: string, value: string): void {
  const problem = idProblem(value)
  if (problem) throw new InvalidInput(field, problem)
}

/** The conversation that a proposal names and that is not there, by what it was refused with: it may have been purged. */
export function missedBy({ conversation }: Proposal, refusal: unknown): string | undefined {
  if (conversation === 'of-session') return undefined
  const { id } = conversation
  const isMissing =
    refusal instanceof NotFound
      ? refusal.facts.what === 'conversation' && refusal.facts.id === id
      : refusal instanceof VersionConflict && refusal.actual === 0
  return isMissing ? id : undefined
}

/** A session for a decision. Its last use is looked up only if the decision asks. */
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
 * In place of the digest of a call whose message was erased: its content could be guessed back from the digest, which has
 * no salt. From then on the key alone tells the call.
 */
export const wipedDigest = ''

/** Whether a key that was recorded with this digest stands for this call. */
export function isSameCall(stored: string, { digest, earlierDigest }: Once): boolean {
  return stored === digest || stored === earlierDigest || stored === wipedDigest
}
