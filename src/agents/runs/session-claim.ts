/** The session of a run, and the claim that lets only one run work on it. */
import { setTimeout as wait } from 'node:timers/promises'
import { sessionAccess } from '../../conversation/access/session-access.ts'
import type { Claim } from '../../conversation/turns/agent-views.ts'
import { LeaseHeld, NotFound } from '../../errors.ts'
import type { ConversationHead } from '../../log/views/conversation.ts'
import type { SessionHead } from '../../log/views/session.ts'
import type { RunTarget } from './run-options.ts'
import type { RunServices } from './run-services.ts'

/** Poll interval while another run has the session. */
const pollMs = 50

/** Returns the target's session. An agent without a session on the conversation gets one. */
export async function sessionOf(services: RunServices, target: RunTarget): Promise<SessionHead> {
  const { engine, scope, views } = services
  if (typeof target === 'string') return sessionAccess(engine, scope).head(target)
  const { conversationId, agent, agentType } = target
  return views.join(await conversationOf(services, conversationId), agent, agentType)
}

export async function conversationOf(
  { engine, scope: { project } }: RunServices,
  conversationId: string,
): Promise<ConversationHead> {
  const head = await engine.store.conversation(project, conversationId)
  if (!head) throw new NotFound('conversation', conversationId)
  return head
}

export async function claimSession(
  services: RunServices,
  { id: sessionId, conversationId }: SessionHead,
  {
    trigger,
    signal,
    waits,
    onWait,
  }: {
    trigger: { messageId: string } | undefined
    signal: AbortSignal | undefined
    /** Waits while another run has the session. */
    waits: boolean
    onWait: () => void
  },
): Promise<Claim> {
  const { views, settings } = services
  const conversation = await conversationOf(services, conversationId)
  for (;;) {
    try {
      return await views.claim(conversation, { sessionId }, { forMs: settings.leaseMs, ...(trigger && { trigger }) })
    } catch (error) {
      // The running run may answer this message; otherwise this run does afterwards.
      if (!(error instanceof LeaseHeld) || !waits) throw error
      onWait()
      await wait(pollMs, undefined, signal ? { signal } : {})
    }
  }
}
