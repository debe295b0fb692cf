/** Finds the thing that an id names. No code parses ids, so each kind is tried. */
import { NotFound } from '../../errors.ts'
import type { Colloquy, Conversation, Session } from '../../index.ts'

type Found = { kind: 'session'; session: Session } | { kind: 'conversation'; conversation: Conversation }

/** @throws {NotFound} when neither a session nor a conversation has the id */
export async function find(colloquy: Colloquy, id: string): Promise<Found> {
  const session = await sessionIfAny(colloquy, id)
  if (session) return { kind: 'session', session }
  try {
    return { kind: 'conversation', conversation: await colloquy.conversations.getConversation(id) }
  } catch (error) {
    throw error instanceof NotFound ? new NotFound('conversation', id, 'Nor is there a session of that id.') : error
  }
}

/** @throws {NotFound} when there is no such conversation; it says so when the id is a session's */
export async function findConversation(colloquy: Colloquy, id: string): Promise<Conversation> {
  try {
    return await colloquy.conversations.getConversation(id)
  } catch (error) {
    const session = error instanceof NotFound ? await sessionIfAny(colloquy, id) : undefined
    throw session
      ? new NotFound('conversation', id, `It is a session of conversation ${session.conversationId}.`)
      : error
  }
}

async function sessionIfAny(colloquy: Colloquy, id: string): Promise<Session | undefined> {
  try {
    return await colloquy.sessions.getSession(id)
  } catch (error) {
    if (error instanceof NotFound) return undefined
    throw error
  }
}
