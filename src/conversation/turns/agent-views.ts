/**
 * One conversation as each of its agents sees it: what it knows, what came while it was away, what it is asked.
 *
 * Building a view moves nothing: the cursor moves when the agent acknowledges. A claim keeps two runs from answering the
 * same message.
 */

import { AlreadyAnswered, InvalidInput, NotFound } from '../../errors.ts'
import type { Decision } from '../../log/commands/decision.ts'
import * as command from '../../log/commands/session.ts'
import type { Engine, Scope, WriteOptions } from '../../log/engine.ts'
import type { SessionCreated } from '../../log/events/session.ts'
import { isInLine } from '../../log/lineage.ts'
import type { ConversationHead } from '../../log/views/conversation.ts'
import type { Message } from '../../log/views/message.ts'
import { type SessionHead, sessionKey } from '../../log/views/session.ts'
import { checkedOptions, checkedTrigger, type RequestOptions } from '../../request/assembly/settings.ts'
import { continuation, leftBehind, type PastHeads } from '../access/heads-at.ts'
import type { Settings } from '../access/settings.ts'
import { type References, type UnresolvedReference, unresolvedLine } from '../references/references.ts'
import type { AgentRequest } from '../sessions/agent-request.ts'
import { sessionBefore } from '../sessions/predecessor.ts'
import type { SessionRequests } from '../sessions/session-requests.ts'

/** An agent by its name, or one of its sessions where it has several on the conversation. */
export type AgentReference = string | { sessionId: string }

export interface AgentViewOptions extends Pick<RequestOptions, 'budget' | 'strategy' | 'recall'> {
  /** What the agent is to answer: a message of the conversation by its id, or a text that is not in the log. */
  trigger: { messageId: string } | string
  /** What kind of agent it is, if it has no session yet. Default: its name. */
  agentType?: string
}

/** What an agent is to be sent, and what to acknowledge once it has taken it in. */
export interface AgentView extends Omit<AgentRequest, 'sessionId'> {
  conversationId: string
  agent: string
  /** Absent in a preview for an agent that has no session yet. */
  sessionId?: string
  /** Acknowledge this version when the agent has taken the view in. */
  upTo: number
  /** References that were left as they are. None in a preview: it looks up nothing. */
  unresolved: UnresolvedReference[]
}

/** The right to answer, for a while. Writes with its `fence` are refused once it is lost. */
export interface Claim {
  sessionId: string
  fence: { name: string; generation: number }
  /** ISO time. */
  expiresAt: string
  renew(forMs?: number): Promise<void>
  release(): Promise<void>
}

export const defaultClaimMs = 60_000

export interface AgentViews {
  build(conversation: ConversationHead, agent: AgentReference, options: AgentViewOptions): Promise<AgentView>
  preview(conversation: ConversationHead, agent: AgentReference, options: AgentViewOptions): Promise<AgentView>
  /** What the agent would have been sent at an earlier time. */
  past(heads: PastHeads, agent: AgentReference, options: AgentViewOptions): Promise<AgentView>
  /** The agent's session on the conversation, made if there is none. */
  join(conversation: ConversationHead, agent: AgentReference, agentType?: string): Promise<SessionHead>
  acknowledge(
    conversation: ConversationHead,
    agent: AgentReference,
    upTo: number,
    write?: WriteOptions,
  ): Promise<SessionHead>
  claim(
    conversation: ConversationHead,
    agent: AgentReference,
    options: { trigger?: { messageId: string }; forMs?: number },
  ): Promise<Claim>
}

export function agentViews({
  engine,
  scope,
  settings,
  requests,
  references,
}: {
  engine: Engine
  scope: Scope
  settings: Settings
  requests: SessionRequests
  references: References
}): AgentViews {
  const { store } = engine
  const { project } = scope

  /** The agent's session here, active or gone for want of use. */
  async function known(conversation: ConversationHead, agent: AgentReference): Promise<SessionHead | undefined> {
    const { id: conversationId, workItem } = conversation.info
    refuseNobody(agent)
    if (typeof agent !== 'string') {
      return onConversation(await store.session(project, agent.sessionId), agent.sessionId, conversationId)
    }
    return sessionBefore(store, project, { agentName: agent, workItem })
  }

  /** What the agent's active session here is found by, and the one that is made if there is none. */
  async function wanted(conversation: ConversationHead, agent: string, agentType: string) {
    const found = await known(conversation, agent)
    const { title, workItem } = conversation.info
    const continues = found ? undefined : await continuation(store, conversation, agent)
    const session: command.NewSession = {
      sessionId: engine.newId(),
      agentName: agent,
      agentType: found?.agentType ?? agentType,
      sharing: found?.sharing ?? settings.sharing[workItem.type],
      expiresInMs: found ? found.expiresInMs : settings.sessionExpiresInMs,
      ...(continues && { continues }),
      before: found,
    }
    return {
      key: sessionKey({ agentName: agent, workItem }),
      ensure: command.ensureSession(session, { title, workItem }),
    }
  }

  /** The agent's active session here, made if there is none. One that comes after an expired one keeps its cursor. */
  async function ensured(
    conversation: ConversationHead,
    agent: AgentReference,
    agentType = typeof agent === 'string' ? agent : '',
  ): Promise<SessionHead> {
    if (typeof agent !== 'string') return (await known(conversation, agent))!
    const { key, ensure } = await wanted(conversation, agent, agentType)
    const appended = await engine.execute(scope, {
      conversation: { id: conversation.info.id },
      session: { key },
      decide: ensure,
      asked: [],
    })
    return appended.session!
  }

  /** For a look without side effects at a conversation the agent is not on yet. */
  function stranger(
    conversation: ConversationHead,
    { agentName, agentType = agentName }: { agentName: string; agentType: string | undefined },
    continues: SessionCreated['continues'],
  ): SessionHead {
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
  }

  async function triggering(conversation: ConversationHead, messageId: string): Promise<Message> {
    const message = await store.message(project, messageId)
    const { id: conversationId, branchOf } = conversation.info
    const line = { project, conversationId, ...(branchOf && { branchOf }) }
    if (!message || !(await isInLine(store, line, message))) throw new NotFound('message', messageId)
    return message
  }

  /** A view ends at the message it answers: what came later is for the next one. */
  async function asked(conversation: ConversationHead, given: AgentViewOptions) {
    if (typeof given !== 'object' || given === null)
      throw new InvalidInput('options', 'must be an object with a trigger')
    const { budget, strategy, recall } = given
    const trigger = checkedTrigger(given.trigger)
    const asOf =
      typeof trigger === 'string' ? conversation.version : (await triggering(conversation, trigger.messageId)).version
    const options = checkedOptions({
      asOf,
      ...(budget !== undefined && { budget }),
      ...(strategy !== undefined && { strategy }),
      ...(recall !== undefined && { recall }),
    })
    return { trigger, asOf, options }
  }

  function view(
    conversation: ConversationHead,
    request: AgentRequest,
    { agent, upTo, unresolved = [] }: { agent: string; upTo: number; unresolved?: UnresolvedReference[] },
  ): AgentView {
    // Onto the request itself: its renderings are made when they are first looked at.
    return Object.assign(request, { conversationId: conversation.info.id, agent, upTo, unresolved })
  }

  return {
    join: ensured,

    async build(conversation, agent, options) {
      const { trigger, asOf, options: request } = await asked(conversation, options)
      const head = await ensured(conversation, agent, options.agentType)
      const left = await references.resolve({ head, asOf, trigger: typeof trigger === 'string' ? trigger : asOf })
      const failed = left.filter(one => one.failed).map(unresolvedLine)
      const made = await requests.build(head.id, trigger, {
        ...request,
        ...(failed.length > 0 && { unresolved: failed }),
      })
      const unresolved = left.map(({ failed: _, ...one }) => one)
      return view(conversation, made, { agent: head.agentName, upTo: asOf, unresolved })
    },

    async preview(conversation, agent, options) {
      const { trigger, asOf, options: how } = await asked(conversation, options)
      const found = await known(conversation, agent)
      const { agentType } = options
      const agentName = agent as string
      const head =
        found ?? stranger(conversation, { agentName, agentType }, await continuation(store, conversation, agentName))
      const request = await requests.previewOf({ session: head, conversation }, trigger, how)
      const made = view(conversation, request, { agent: head.agentName, upTo: asOf })
      if (!found) delete made.sessionId
      return made
    },

    async past(heads, agent, options) {
      const { conversation, sessions } = heads
      refuseNobody(agent)
      const { trigger, asOf, options: request } = await asked(conversation, options)
      const found = [...sessions.values()].findLast(session =>
        typeof agent === 'string' ? session.agentName === agent : session.id === agent.sessionId,
      )
      if (!found && typeof agent !== 'string') throw new NotFound('session', agent.sessionId)
      const { agentType } = options
      const agentName = agent as string
      const head =
        found ?? stranger(conversation, { agentName, agentType }, await leftBehind(store, conversation, agentName))
      if (asOf > conversation.version) {
        throw new InvalidInput('trigger', `it was said at version ${asOf}, after version ${conversation.version}`)
      }
      const made = await requests.previewOf({ session: head, conversation, sessions }, trigger, request)
      return view(conversation, made, { agent: head.agentName, upTo: asOf })
    },

    async acknowledge(conversation, agent, upTo, write) {
      const { id } = conversation.info
      refuseNobody(agent)
      // In one write with the session, if one has to be made: what is refused makes none, nor does a key that was used.
      const place = typeof agent === 'string' ? await wanted(conversation, agent, agent) : agent
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

    async claim(conversation, agent, { trigger, forMs = defaultClaimMs }) {
      const { id: sessionId, agentName } = await ensured(conversation, agent)
      const lease = await store.claim({ project, name: `run ${sessionId}`, holder: engine.newId(), forMs })
      const fence = { name: lease.name, generation: lease.generation }
      const claim: Claim = {
        sessionId,
        fence,
        expiresAt: lease.expiresAt,
        async renew(forMs = defaultClaimMs) {
          claim.expiresAt = (await store.renew({ project, ...fence, forMs })).expiresAt
        },
        release: () => store.release({ project, ...fence }),
      }
      if (!trigger) return claim
      try {
        const { version } = await triggering(conversation, trigger.messageId)
        // Looked at under the lease: whoever had it before has acknowledged by now what it answered.
        const { acknowledged, run } = (await store.session(project, sessionId))!
        // A run that was cut off has taken the message in, but has not answered it.
        const isCutOff = run?.trigger === version && run.outcome !== 'done'
        if (acknowledged !== undefined && version <= acknowledged && !isCutOff) {
          const conversationId = conversation.info.id
          throw new AlreadyAnswered({ conversationId, agent: agentName, version, acknowledged })
        }
      } catch (error) {
        await claim.release()
        throw error
      }
      return claim
    },
  }
}

/** Decides on the session as it is at the write: a key may give what it gave before the session was deleted. */
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
function refuseNobody(agent: AgentReference): void {
  const isSession = typeof agent === 'object' && agent !== null && typeof agent.sessionId === 'string'
  if (typeof agent !== 'string' && !isSession)
    throw new InvalidInput('agent', 'must be the name of an agent, or { sessionId }')
}
