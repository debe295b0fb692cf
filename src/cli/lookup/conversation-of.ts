/** The conversation that an argument names: by its own id, or by that of one of its sessions. */
import type { Colloquy, Conversation } from '../../index.ts'
import { find } from './find.ts'

export async function conversationOf(colloquy: Colloquy, id: string): Promise<Conversation> {
  const found = await find(colloquy, id)
  return found.kind === 'conversation'
    ? found.conversation
    : colloquy.conversations.getConversation(found.session.conversationId)
}
