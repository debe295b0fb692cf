/** Sessions of a conversation's agents: found, created, acknowledged, and stood in for where an agent has none. */
import { InvalidInput, NotFound } from '../../errors.ts'
import type { Decision } from '../../log/commands/decision.ts'
import * as command from '../../log/commands/session.ts'
import type { Engine, Scope, WriteOptions } from '../../log/engine.ts'
import type { SessionCreated } from '../../log/events/session.ts'
import type { ConversationHead } from '../../log/views/conversation.ts'
import { type SessionHead, sessionKey } from '../../log/views/session.ts'
import { continuation } from '../access/heads-at.ts'
import type { Settings } from '../access/settings.ts'
import { sessionBefore } from '../sessions/predecessor.ts'

/** An agent by its name, or one of its sessions where it has several on the conversation. */
export type AgentReference = string | { sessionId: string }

export interface AgentSessions {
  /** The agent's session on the conversation, active or expired. */
  find(conversation: ConversationHead, agent: AgentReference): Promise<SessionHead | undefined>
  /** The agent's active session, created if there is none. The successor of an expired session keeps its cursor. */
  join(conversation: ConversationHead, agent: AgentReference, agentType?: string): Promise<SessionHead>
  /** A head for the preview of an agent that has no session. */
  stranger(
    conversation: ConversationHead,
    agent: { agentName: string; agentType: string | undefined },
    continues: SessionCreated['continues'],
  ): SessionHead
  acknowledge(
    conversation: ConversationHead,
    agent: AgentReference,
    upTo: number,
    write?: WriteOptions,
  ): Promise<SessionHead>
}

export function agentSessions({
  engine,
  scope,
  settings,
}: {
  engine: Engine
  scope: Scope
  settings: Settings
}): AgentSessions {
  const { store } = engine
  const { project } = scope

  async function find(conversation: ConversationHead, agent: AgentReference): Promise<SessionHead | undefined> {
    const { id: conversationId, workItem } = conversation.info
    checkAgent(agent)
    if (typeof agent !== 'string') {
      return onConversation(await store.session(project, agent.sessionId), agent.sessionId, conversationId)
    }
    return sessionBefore(store, project, { agentName: agent, workItem })
  }

  /** The key of the agent's active session, and the decision that creates one if there is none. */
  async function sessionFor(conversation: ConversationHead, agent: string, agentType: string) {
    const previous = await find(conversation, agent)
    const { title, workItem } = conversation.info
    const continues = previous ? undefined : await continuation(store, conversation, agent)
    const session: command.NewSession = {
      sessionId: engine.newId(),
      agentName: agent,
      agentType: previous?.agentType ?? agentType,
      sharing: previous?.sharing ?? settings.sharing[workItem.type],
      expiresInMs: previous ? previous.expiresInMs : settings.sessionExpiresInMs,
      ...(continues && { continues }),
      before: previous,
    }
    return {
      key: sessionKey({ agentName: agent, workItem }),
      ensure: command.ensureSession(session, { title, workItem }),
    }
  }

  return {
    find,

    async join(conversation, agent, agentType = typeof agent === 'string' ? agent : '') {
      if (typeof agent !== 'string') return (await find(conversation, agent))!
      const { key, ensure } = await sessionFor(conversation, agent, agentType)
      const { session } = await engine.execute(scope, {
        conversation: { id: conversation.info.id },
        session: { key },
        decide: ensure,
        asked: [],
      })
      return session!
    },

    stranger(conversation, { agentName, agentType = agentName }, continues) {
      const { id, workItem, branchOf } = conversation.info
      return {
        id: `${id} ${agentName}`,
        project,
        conversationId: id,
        agentName,
        agentType,
        workItem,
        sharing: settings.sharing[workItem.type],
        status: 'active',
        expiresInMs: null,
        windowStart: 0,
        kept: [],
        compactions: 0,
        ...continues?.head,
        ...(branchOf && { branchOf }),
        ...(continues && { continues: continues.sessionIds }),
        outsideIds: {},
        metadata: {},
        createdAt: conversation.activeAt,
        updatedAt: conversation.activeAt,
      }
    },

    async acknowledge(conversation, agent, upTo, write) {
      const { id } = conversation.info
      checkAgent(agent)
      // A missing session is created in the same write, so that a refused call creates none.
      const place = typeof agent === 'string' ? await sessionFor(conversation, agent, agent) : agent
      const { session } = await engine.execute(scope, {
        conversation: { id },
        session: 'key' in place ? { key: place.key } : { id: place.sessionId },
        decide:
          'key' in place
            ? command.acknowledgeAfter(place.ensure, upTo)
            : acknowledgeHere(place.sessionId, { id, upTo }),
        options: write,
        asked: ['acknowledge', id, agent, upTo],
      })
      return session!
    },
  }
}

/** Decides on the session as it is at the write, because a key may give its result after the session was deleted. */
function acknowledgeHere(sessionId: string, { id, upTo }: { id: string; upTo: number }): Decision {
  return (heads, now) => {
    onConversation(heads.session?.head, sessionId, id)
    return command.acknowledge(sessionId, upTo)(heads, now)
  }
}

/** @throws {NotFound} when there is no such session, it was deleted, or it is on another conversation */
function onConversation(head: SessionHead | undefined, sessionId: string, conversationId: string): SessionHead {
  if (head?.conversationId === conversationId && head.status !== 'deleted') return head
  throw new NotFound('session', sessionId, `It is not on conversation ${conversationId}.`)
}

/** @throws {InvalidInput} when it names no agent and no session */
export function checkAgent(agent: AgentReference): void {
  const isSession = typeof agent === 'object' && agent !== null && typeof agent.sessionId === 'string'
  if (typeof agent !== 'string' && !isSession)
    throw new InvalidInput('agent', 'must be the name of an agent, or { sessionId }')
}
