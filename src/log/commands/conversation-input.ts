/** Input of `createConversation`. Only `branch` and `delegate` set where a conversation comes from. */
import { ConversationCreated } from '../events/conversation.ts'

export const ConversationInput = ConversationCreated.pick({
  title: true,
  workItem: true,
  phase: true,
  tracingId: true,
  metadata: true,
}).strict()
