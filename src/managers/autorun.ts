/**
 * Runs agents by themselves: what a person says starts the agents it is addressed to, the agent of the session it was
 * said in, or else the project's default agent. However many processes look on, the session's lease lets one answer.
 */
import { ColloquyError } from '../errors.ts'
import type { Message } from '../views/message.ts'
import type { Update } from '../views/update.ts'
import type { AgentManager, RunTarget } from './agent-manager.ts'
import type { AgentSettings } from './agent-settings.ts'
import type { Conversation } from './conversation.ts'
import type { ConversationManager } from './conversation-manager.ts'

interface Watched {
  subscribe(options: { signal: AbortSignal }): AsyncIterableIterator<Update>
  readonly conversations: Pick<ConversationManager, 'getConversation'>
  readonly agents: Pick<AgentManager, 'run'>
}

/** Gives the way to end it: nothing is started any more, and what runs is left to whoever closes. */
export function autorun(colloquy: Watched, settings: Pick<AgentSettings, 'defaultAgent'>): () => Promise<void> {
  const stop = new AbortController()
  const updates = colloquy.subscribe({ signal: stop.signal })
  const watching = (async () => {
    for await (const update of updates) {
      if (update.action === 'message_added') await start(colloquy, update.message, settings, stop.signal)
    }
  })().catch(() => undefined)
  return async () => {
    stop.abort()
    await updates.return?.()
    await watching
  }
}

async function start(
  { conversations, agents }: Watched,
  message: Message,
  { defaultAgent }: Pick<AgentSettings, 'defaultAgent'>,
  signal: AbortSignal,
): Promise<void> {
  if (message.role !== 'user' || message.internal || message.content.trim() === '') return
  const conversation = await conversations.getConversation(message.conversationId).catch(() => undefined)
  // Whoever delegates runs the other agent itself.
  if (conversation?.status !== 'active' || conversation.delegated) return
  for (const target of targetsOf(message, conversation, defaultAgent)) {
    agents.run(target, { trigger: { messageId: message.id }, waits: true, signal }).catch(error => {
      // Answered by another, closed meanwhile, no model: the log or the next caller says so, and others go on.
      if (!(error instanceof ColloquyError) && !signal.aborted) throw error
    })
  }
}

function targetsOf(
  message: Message,
  { id: conversationId }: Conversation,
  defaultAgent: string | undefined,
): RunTarget[] {
  const { addressees = [], sessionId, author } = message
  const named = addressees.filter(agent => agent !== author)
  if (named.length > 0) return named.map(agent => ({ conversationId, agent }))
  if (sessionId !== undefined) return [sessionId]
  return defaultAgent === undefined ? [] : [{ conversationId, agent: defaultAgent }]
}
