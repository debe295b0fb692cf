/** The decision to take a checkpoint that was made while others went on writing. */
import type { CheckpointTaken } from '../events/checkpoint.ts'
import type { Heads } from '../views/heads.ts'
import type { SessionHead } from '../views/session.ts'
import type { Decision } from './decision.ts'

/** The state that a checkpoint was made from. It may be taken only while the log still says the same of it. */
export interface CheckpointBasis {
  session: SessionHead
  /** Number of the checkpoint that it goes on from. */
  base: number
  /** Version of the conversation when its messages were read. */
  version: number
}

export class CheckpointSuperseded extends Error {}

/** @throws {CheckpointSuperseded} when the session changed in a way that the checkpoint does not know of */
export function takeCheckpoint(checkpoint: CheckpointTaken, basis: CheckpointBasis): Decision {
  return heads => {
    const reason = changeSince(heads, basis)
    if (reason) throw new CheckpointSuperseded(reason)
    return [checkpoint]
  }
}

function changeSince({ session, conversation }: Heads, basis: CheckpointBasis): string | undefined {
  const head = session?.head
  if (head?.status !== basis.session.status) return `the session is ${head?.status ?? 'deleted'}`
  if (conversation && conversation.info.status !== 'active') return `the conversation is ${conversation.info.status}`
  if (head.windowStart !== basis.session.windowStart) return 'the window was cleared or reset'
  // The checkpoint may repeat the erased message.
  if ((conversation?.info.erasedAt ?? 0) > basis.version) return 'a message was erased'
  if ((head.checkpoint?.number ?? 0) !== basis.base) return 'another checkpoint was taken'
  return undefined
}
