/** Endpoints of Loom: sessions under its names. */
import type { z } from 'zod'
import { NotFound } from '../../errors.ts'
import type { Colloquy, Message, Session, WorkItem } from '../../index.ts'
import type { LoomConversation } from '../contract/loom.ts'
import type { Handlers } from '../handler.ts'

export function loomHandlers(): Handlers<'loom'> {
  return {
    async list({ colloquy, query: { limit = 50 } }) {
      const { items } = await colloquy.sessions.listSessions({ limit })
      const conversations = []
      for (const session of items) conversations.push(await conversationOf(colloquy, session))
      return { project_id: colloquy.project, limit, conversations }
    },
    async get({ colloquy, params }) {
      return conversationOf(colloquy, await colloquy.sessions.getSession(params.id))
    },
    async ofBead({ colloquy, params }) {
      const workItem = { type: 'bead', beadId: params.id } as const
      const { items } = await colloquy.sessions.listSessions({ workItem, status: ['active'], limit: 1 })
      const [session] = items.length > 0 ? items : (await colloquy.sessions.listSessions({ workItem, limit: 1 })).items
      if (!session) throw new NotFound('session', params.id, 'The bead has no session yet.')
      return conversationOf(colloquy, session)
    },
    async delete({ colloquy, params, write }) {
      await colloquy.sessions.deleteSession(params.id, undefined, write)
      return { success: true, message: 'The session is hidden; the log keeps it.', session_id: params.id }
    },
    async reset({ colloquy, params, body, write }) {
      const keepSystemMessage = body?.keep_system_message ?? true
      await colloquy.sessions.resetSession(params.id, { keepSystemMessage }, write)
      return {
        success: true,
        message: 'The session is reset; the log keeps its messages.',
        session_id: params.id,
        keep_system_message: keepSystemMessage,
      }
    },
  }
}

async function conversationOf(colloquy: Colloquy, session: Session): Promise<z.input<typeof LoomConversation>> {
  const messages = await colloquy.sessions.getAllMessages(session.id)
  return {
    session_id: session.id,
    bead_id: itemId(session.workItem),
    project_id: session.project,
    messages: messages.map(loomMessage),
    created_at: session.createdAt,
    updated_at: session.stats.lastActivityAt,
    expires_at: session.expiresAt,
    token_count: session.stats.tokens,
    metadata: textValues({ agent_name: session.agentName, agent_type: session.agentType, ...session.metadata }),
    entity_metadata: {},
  }
}

function loomMessage({ role, content, timestamp, tokens }: Message) {
  return { role, content, timestamp, ...(tokens.count > 0 && { token_count: tokens.count }) }
}

/** Features, tasks and threads take the place of beads, the only work items of Loom. */
function itemId(item: WorkItem): string {
  switch (item.type) {
    case 'bead':
      return item.beadId
    case 'task':
      return item.taskId
    case 'feature':
      return item.featureId
    case 'thread':
      return item.threadId
  }
}

function textValues(metadata: Record<string, unknown>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(metadata).map(([key, value]) => [key, typeof value === 'string' ? value : JSON.stringify(value)]),
  )
}
