/** Heads as they are at the moment of writing: the input of a decision. */
import type { ConversationHead } from './conversation.ts'
import type { SessionHead } from './session.ts'

export interface Heads {
  /** Undefined when the conversation does not exist. */
  conversation: ConversationHead | undefined
  /** The requested session, if it exists. */
  session: SessionInUse | undefined
}

export interface SessionInUse {
  head: SessionHead
  /** Time of the last change of the session or of a message it sees, in milliseconds. */
  readonly lastActiveAtMs: number
}
