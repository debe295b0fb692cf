/**
 * A conversation as it was at an earlier version: its state, its sessions, its messages, what each agent saw, and what
 * was sent. Reading only; to go on from there, branch.
 */
import { setImmediate as breathe } from 'node:timers/promises'
import { NotFound } from '../../errors.ts'
import type { Engine, Scope } from '../../log/engine.ts'
import type { RecordedEvent } from '../../log/events/recorded-event.ts'
import type { RequestBuilt } from '../../log/events/request.ts'
import { begunAs } from '../../log/fold.ts'
import { laneKinds } from '../../log/records/lane.ts'
import { type ConversationHead, type ConversationInfo, evolveConversation } from '../../log/views/conversation.ts'
import type { Message } from '../../log/views/message.ts'
import type { SessionHead } from '../../log/views/session.ts'
import { everything } from '../../log/visibility.ts'
import type { Window } from '../../log/windows.ts'
import { conversationHead } from '../access/conversation-head.ts'
import { pastHeads } from '../access/heads-at.ts'
import { checkPage } from '../access/input-schemas.ts'
import { eventAt } from '../access/session-access.ts'
import { type MessagePage, messagesIn } from '../access/sliced-lists.ts'
import type { AgentRequest } from '../sessions/agent-request.ts'
import type { SessionRequests } from '../sessions/session-requests.ts'
import type { AgentReference, AgentView, AgentViewOptions, AgentViews } from '../turns/agent-views.ts'

/** A request that was sent, rendered again from its manifest. */
export interface PastRequest {
  version: number
  manifest: RequestBuilt
  request: AgentRequest
  /**
   * True if it has the recorded size. It may not if settings changed since, if its message was never stored, if a
   * reference could not be resolved then, or if content was erased.
   */
  isExact: boolean
}

export interface PastConversation {
  readonly version: number
  readonly conversation: ConversationInfo
  readonly sessions: readonly SessionHead[]
  /** Every message there was then; with `limit` the newest, or with `after` the oldest. */
  messages(page?: MessagePage): Promise<Message[]>
  /** The view of an agent at that version, for a message of that time or a text. */
  view(agent: AgentReference, options: AgentViewOptions): Promise<AgentView>
  /** The newest request of a session that had been built by then. */
  request(sessionId: string): Promise<PastRequest | undefined>
}

/** One step of a replay: what happened, and how the conversation stood after it. */
export interface ReplayStep {
  version: number
  event: RecordedEvent
  conversation: ConversationInfo
}

export interface Past {
  at(conversation: ConversationHead, version: number): Promise<PastConversation>
  replay(conversation: ConversationHead, range: { from?: number; to?: number }): AsyncIterableIterator<ReplayStep>
}

export function past({
  engine,
  scope,
  requests,
  views,
}: {
  engine: Engine
  scope: Scope
  requests: SessionRequests
  views: AgentViews
}): Past {
  const { store } = engine
  const { project } = scope

  async function at({ info }: ConversationHead, version: number): Promise<PastConversation> {
    const heads = await pastHeads(store, { project, conversationId: info.id, version })
    const { id: conversationId, branchOf } = heads.conversation.info
    const window: Window = {
      project,
      conversationId,
      viewer: everything,
      kinds: laneKinds,
      start: 0,
      kept: [],
      end: version,
      ...(branchOf && { branchOf }),
    }
    return {
      version,
      conversation: heads.conversation.info,
      sessions: [...heads.sessions.values()],
      async messages(page = {}) {
        checkPage(page)
        return messagesIn(store, window, page)
      },
      view: (agent, options) => views.past(heads, agent, options),
      async request(sessionId) {
        const session = heads.sessions.get(sessionId)
        if (!session) throw new NotFound('session', sessionId, `It was not there at version ${version}.`)
        return session.lastRequest && sent(session, session.lastRequest.version)
      },
    }
  }

  async function sent(session: SessionHead, version: number): Promise<PastRequest | undefined> {
    const manifest = await eventAt(engine, session, version, 'request.built')
    if (!manifest) return undefined
    const { project, conversationId } = session
    // The heads right before the manifest are what the request was built from.
    const then = await pastHeads(store, { project, conversationId, version: version - 1 })
    const head = then.sessions.get(session.id)!
    const trigger = manifest.trigger === undefined ? undefined : await messageAt(head, manifest.trigger)
    const request = await requests.previewOf({ session: head, ...then }, trigger ? { messageId: trigger.id } : '', {
      asOf: manifest.asOf ?? version - 1,
      budget: manifest.budget,
      recall: manifest.recall !== undefined,
    })
    return { version, manifest, request, isExact: request.totalTokens === manifest.tokens }
  }

  async function messageAt({ project, conversationId, branchOf }: SessionHead, version: number) {
    const [message] = await store.messages(
      {
        project,
        conversationId,
        viewer: everything,
        kinds: laneKinds,
        start: Number.MAX_SAFE_INTEGER,
        kept: [version],
        ...(branchOf && { branchOf }),
      },
      { limit: 1 },
    )
    return message
  }

  async function* replay(
    now: ConversationHead,
    { from = 1, to = now.version }: { from?: number; to?: number },
  ): AsyncIterableIterator<ReplayStep> {
    const { version } = now
    const { id: conversationId, branchOf } = now.info
    const line = { project, conversationId, ...(branchOf && { branchOf }) }
    let head: ConversationHead | undefined =
      from > 1 ? (await pastHeads(store, { project, conversationId, version: from - 1 })).conversation : begunAs(now)
    let next = from
    while (next <= Math.min(to, version)) {
      const page = await store.read({ ...line, from: next, to, limit: 200 })
      if (page.length === 0) {
        await conversationHead(store, project, conversationId)
        return
      }
      for (const event of page) {
        head = evolveConversation(head, event)
        if (head) yield { version: event.version, event, conversation: head.info }
        next = event.version + 1
      }
      // Lets the event loop run, because a reader may never pause.
      await breathe()
    }
  }

  return { at, replay }
}
