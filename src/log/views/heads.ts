/** What a decision may look at: heads as they are at the moment of writing. */
import type { ConversationHead } from './conversation.ts'
import type { SessionHead } from './session.ts'

export interface Heads {
  /** Undefined when the conversation does not exist yet. */
  conversation: ConversationHead | undefined
  /** The session that was asked for, if it exists. */
  session: SessionInUse | undefined
}

export interface SessionInUse {
  head: SessionHead
  /** When the session, or a message it sees, last changed; milliseconds. */
  readonly lastActiveAtMs: number
}
