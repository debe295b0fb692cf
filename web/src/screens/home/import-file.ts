/** A file of messages becomes a conversation of its own. */
import type { Client } from 'colloquy/client'
import { tell } from '../../components/notices.tsx'
import { readMessages } from './read-messages.ts'

/** @returns the conversation */
export async function importFile(client: Client, file: File): Promise<string> {
  const { title, messages, left } = readMessages(await file.text())
  if (messages.length === 0) {
    throw new Error(`${file.name} has no messages. A message has a role (user, assistant, system) and a content.`)
  }
  const session = await client.sessions.getOrCreate({
    body: { type: 'thread', threadId: crypto.randomUUID(), agentType: 'assistant', title: title ?? file.name },
  })
  for (const message of messages) await client.sessions.addMessage({ sessionId: session.id, body: message })
  tell(`${messages.length} messages were brought along${left > 0 ? `; ${left} entries were none` : ''}.`)
  return session.conversationId
}
