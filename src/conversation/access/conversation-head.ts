/** A conversation by its id, or why there is none. */
import { ConversationPurged, NotFound } from '../../errors.ts'
import type { StoreCalls } from '../../log/store.ts'
import type { ConversationHead } from '../../log/views/conversation.ts'

/**
 * @throws {NotFound} when there is none
 * @throws {ConversationPurged} when it was purged; `restore` brings it back
 */
export async function conversationHead(
  store: StoreCalls,
  project: string,
  conversationId: string,
): Promise<ConversationHead> {
  const head = await store.conversation(project, conversationId)
  if (head) return head
  const purged = (await store.purges(project)).find(one => one.conversationId === conversationId)
  if (purged) throw new ConversationPurged({ conversationId, archive: purged.archive })
  throw new NotFound('conversation', conversationId)
}
