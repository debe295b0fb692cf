/** What may be said of a new conversation. Whose branch it is, and who handed it over, only `branch` and `delegate` say. */
import { ConversationCreated } from '../events/conversation.ts'

export const ConversationInput = ConversationCreated.pick({
  title: true,
  workItem: true,
  phase: true,
  tracingId: true,
  metadata: true,
}).strict()
