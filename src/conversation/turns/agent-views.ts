/**
 * One conversation as each of its agents sees it: what it knows, what came while it was away, the message to answer.
 *
 * Building a view moves nothing: the cursor moves when the agent acknowledges. A claim keeps two runs from answering the
 * same message.
 */
import { AlreadyAnswered, InvalidInput, NotFound } from '../../errors.ts'
import type { Engine, Scope } from '../../log/engine.ts'
import { isInLine } from '../../log/lineage.ts'
import type { ConversationHead } from '../../log/views/conversation.ts'
import type { Message } from '../../log/views/message.ts'
import type { SessionHead } from '../../log/views/session.ts'
import { checkedOptions, checkedTrigger, type RequestOptions } from '../../request/assembly/settings.ts'
import { continuation, leftBehind, type PastHeads } from '../access/heads-at.ts'
import type { Settings } from '../access/settings.ts'
import { type References, type UnresolvedReference, unresolvedLine } from '../references/references.ts'
import type { AgentRequest } from '../sessions/agent-request.ts'
import type { SessionRequests } from '../sessions/session-requests.ts'
import { type AgentReference, type AgentSessions, agentSessions, checkAgent } from './agent-sessions.ts'

export type { AgentReference }

export interface AgentViewOptions extends Pick<RequestOptions, 'budget' | 'strategy' | 'recall'> {
  /** The message to answer, by its id, or a text that is not in the log. */
  trigger: { messageId: string } | string
  /** Type of an agent that has no session yet. Default: its name. */
  agentType?: string
}

/** The request for an agent, and the version to acknowledge afterwards. */
export interface AgentView extends Omit<AgentRequest, 'sessionId'> {
  conversationId: string
  agent: string
  /** Absent in a preview for an agent that has no session yet. */
  sessionId?: string
  /** Version to acknowledge once the agent has read the view. */
  upTo: number
  /** References without their content. A preview looks up none. */
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
  /** The view at an earlier version. */
  past(heads: PastHeads, agent: AgentReference, options: AgentViewOptions): Promise<AgentView>
  readonly join: AgentSessions['join']
  readonly acknowledge: AgentSessions['acknowledge']
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
  const sessions = agentSessions({ engine, scope, settings })

  /** A view ends at the message it answers. Later messages belong to the next view. */
  async function requestFor(conversation: ConversationHead, options: AgentViewOptions) {
    if (typeof options !== 'object' || options === null)
      throw new InvalidInput('options', 'must be an object with a trigger')
    const { budget, strategy, recall } = options
    const trigger = checkedTrigger(options.trigger)
    const asOf =
      typeof trigger === 'string'
        ? conversation.version
        : (await messageOn(engine, conversation, trigger.messageId)).version
    const requestOptions = checkedOptions({
      asOf,
      ...(budget !== undefined && { budget }),
      ...(strategy !== undefined && { strategy }),
      ...(recall !== undefined && { recall }),
    })
    return { trigger, asOf, requestOptions }
  }

  return {
    join: sessions.join,
    acknowledge: sessions.acknowledge,

    async build(conversation, agent, options) {
      const { trigger, asOf, requestOptions } = await requestFor(conversation, options)
      const head = await sessions.join(conversation, agent, options.agentType)
      const left = await references.resolve({ head, asOf, trigger: typeof trigger === 'string' ? trigger : asOf })
      const failures = left.filter(({ failed }) => failed).map(unresolvedLine)
      const request = await requests.build(head.id, trigger, {
        ...requestOptions,
        ...(failures.length > 0 && { unresolved: failures }),
      })
      const unresolved = left.map(({ failed: _, ...reference }) => reference)
      return viewOf(conversation, request, { agent: head.agentName, upTo: asOf, unresolved })
    },

    async preview(conversation, agent, options) {
      const { trigger, asOf, requestOptions } = await requestFor(conversation, options)
      const session = await sessions.find(conversation, agent)
      const { agentType } = options
      const agentName = agent as string
      const head =
        session ??
        sessions.stranger(conversation, { agentName, agentType }, await continuation(store, conversation, agentName))
      const request = await requests.previewOf({ session: head, conversation }, trigger, requestOptions)
      const view = viewOf(conversation, request, { agent: head.agentName, upTo: asOf })
      if (!session) delete view.sessionId
      return view
    },

    async past(heads, agent, options) {
      const { conversation, sessions: pastSessions } = heads
      checkAgent(agent)
      const { trigger, asOf, requestOptions } = await requestFor(conversation, options)
      const session = [...pastSessions.values()].findLast(({ agentName, id }) =>
        typeof agent === 'string' ? agentName === agent : id === agent.sessionId,
      )
      if (!session && typeof agent !== 'string') throw new NotFound('session', agent.sessionId)
      const { agentType } = options
      const agentName = agent as string
      const head =
        session ??
        sessions.stranger(conversation, { agentName, agentType }, await leftBehind(store, conversation, agentName))
      if (asOf > conversation.version) {
        throw new InvalidInput('trigger', `it was said at version ${asOf}, after version ${conversation.version}`)
      }
      const request = await requests.previewOf({ ...heads, session: head }, trigger, requestOptions)
      return viewOf(conversation, request, { agent: head.agentName, upTo: asOf })
    },

    async claim(conversation, agent, { trigger, forMs = defaultClaimMs }) {
      const { id: sessionId, agentName } = await sessions.join(conversation, agent)
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
        const { version } = await messageOn(engine, conversation, trigger.messageId)
        // Read under the lease: its previous holder has acknowledged by now the message that it answered.
        const session = (await store.session(project, sessionId))!
        refuseAnswered(session, { version, conversationId: conversation.info.id, agent: agentName })
      } catch (error) {
        await claim.release()
        throw error
      }
      return claim
    },
  }
}

/** The message with this id, if the conversation or one that it branches off has it. */
async function messageOn({ store }: Engine, conversation: ConversationHead, messageId: string): Promise<Message> {
  const { project, id: conversationId, branchOf } = conversation.info
  const message = await store.message(project, messageId)
  const line = { project, conversationId, ...(branchOf && { branchOf }) }
  if (!message || !(await isInLine(store, line, message))) throw new NotFound('message', messageId)
  return message
}

function refuseAnswered(
  { acknowledged, run }: SessionHead,
  { version, conversationId, agent }: { version: number; conversationId: string; agent: string },
): void {
  // A run that was cut off has read the message, but has not answered it.
  const isCutOff = run?.trigger === version && run.outcome !== 'done'
  if (acknowledged !== undefined && version <= acknowledged && !isCutOff)
    throw new AlreadyAnswered({ conversationId, agent, version, acknowledged })
}

function viewOf(
  conversation: ConversationHead,
  request: AgentRequest,
  { agent, upTo, unresolved = [] }: { agent: string; upTo: number; unresolved?: UnresolvedReference[] },
): AgentView {
  // Assigned to the request itself, because its forms are rendered when they are first read.
  return Object.assign(request, { conversationId: conversation.info.id, agent, upTo, unresolved })
}
