/** Access to one session: its heads, an event of its log, a decision about it. */
import { NotFound } from '../../errors.ts'
import type { Decision } from '../../log/commands/decision.ts'
import { expireIfDue } from '../../log/commands/session.ts'
import type { Engine, Scope } from '../../log/engine.ts'
import type { ConversationEvent } from '../../log/events/event.ts'
import type { ConversationHead } from '../../log/views/conversation.ts'
import { changedAtMs, expiryOf, type SessionHead } from '../../log/views/session.ts'

type EventOf<T extends ConversationEvent['type']> = Extract<ConversationEvent, { type: T }>

/** A session's head with that of its conversation, which is undefined once it is purged. */
export interface SessionHeads {
  session: SessionHead
  conversation: ConversationHead | undefined
}

export interface SessionAccess {
  readonly engine: Engine
  readonly scope: Scope
  /** @throws {NotFound} when there is no such session, or it was deleted */
  head(sessionId: string): Promise<SessionHead>
  /**
   * Returns the head after an overdue session was marked as expired. For callers whose next event is no use of the
   * session, but would count as one.
   */
  markedHead(sessionId: string): Promise<SessionHead>
  conversationOf(session: SessionHead): Promise<ConversationHead | undefined>
  /** @throws {NotFound} when there is no such session, or it was deleted */
  heads(sessionId: string): Promise<SessionHeads>
  /** The event at a version of the session's conversation, if it is of that type. */
  eventAt<T extends ConversationEvent['type']>(
    head: SessionHead,
    version: number | undefined,
    type: T,
  ): Promise<EventOf<T> | undefined>
  execute(head: SessionHead, decide: Decision): ReturnType<Engine['execute']>
}

export function sessionAccess(engine: Engine, scope: Scope): SessionAccess {
  async function head(sessionId: string): Promise<SessionHead> {
    const head = await engine.store.session(scope.project, sessionId)
    if (!head || head.status === 'deleted') throw new NotFound('session', sessionId)
    return head
  }

  function execute(head: SessionHead, decide: Decision): ReturnType<Engine['execute']> {
    return engine.execute(scope, {
      conversation: { id: head.conversationId },
      session: { id: head.id },
      decide,
      asked: [],
    })
  }

  const conversationOf = ({ conversationId }: SessionHead) => engine.store.conversation(scope.project, conversationId)

  return {
    engine,
    scope,
    head,
    conversationOf,
    async heads(sessionId) {
      const session = await head(sessionId)
      return { session, conversation: await conversationOf(session) }
    },
    async markedHead(sessionId) {
      const session = await head(sessionId)
      // The decision looks again: messages, which the head does not count, may have kept the session in use.
      const mayBeOver = (expiryOf(session, changedAtMs(session)) ?? Number.POSITIVE_INFINITY) <= engine.clock()
      if (session.status !== 'active' || !mayBeOver) return session
      return (await execute(session, expireIfDue)).session ?? session
    },
    eventAt: (head, version, type) => eventAt(engine, head, version, type),
    execute,
  }
}

export async function eventAt<T extends ConversationEvent['type']>(
  { store }: Engine,
  { project, conversationId, branchOf }: SessionHead,
  version: number | undefined,
  type: T,
): Promise<EventOf<T> | undefined> {
  if (version === undefined) return undefined
  const [recorded] = await store.read({
    project,
    conversationId,
    from: version,
    to: version,
    ...(branchOf && { branchOf }),
  })
  return recorded?.event.type === type ? (recorded.event as EventOf<T>) : undefined
}
