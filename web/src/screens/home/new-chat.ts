/** Starts a chat: a first message to an agent, in a new thread. */
import type { Client } from 'colloquy/client'
import { ask } from '../../components/ask.tsx'
import { tellFailure } from '../../components/notices.tsx'
import { address } from '../../router/address.ts'
import { go } from '../../router/router.tsx'

export function newChat(client: Client, project: string): void {
  begin(client, project).catch(tellFailure)
}

async function begin(client: Client, project: string): Promise<void> {
  const given = await ask({
    title: 'New chat',
    text: 'A conversation of its own, with an assistant. Others can join later.',
    confirm: 'Begin',
    field: { label: 'What it is about', isNeeded: true },
  })
  if (!given) return
  const session = await client.sessions.getOrCreate({
    body: { type: 'thread', threadId: crypto.randomUUID(), agentType: 'assistant', title: given.text.trim() },
  })
  go(address([project, 'conversations', session.conversationId], { write: 1 }))
}
