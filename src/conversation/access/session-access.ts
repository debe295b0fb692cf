/** One session as the managers read and write it: its head, its window, an event of its log, a decision about it. */

import { NotFound } from '../../errors.ts'
import type { Decision } from '../../log/commands/decision.ts'
import { expireIfDue } from '../../log/commands/session.ts'
import type { Engine, Scope } from '../../log/engine.ts'
import type { ConversationEvent } from '../../log/events/event.ts'
import { changedAtMs, expiryOf, type SessionHead } from '../../log/views/session.ts'

type EventOf<T extends ConversationEvent['type']> = Extract<ConversationEvent, { type: T }>

export interface SessionAccess {
  readonly engine: Engine
  readonly scope: Scope
  /** @throws {NotFound} when there is none, or it was deleted */
  head(sessionId: string): Promise<SessionHead>
  /**
   * The same for who goes on to record what is no use of the session, but would pass for it: one whose time is over is
   * marked first.
   */
  markedHead(sessionId: string): Promise<SessionHead>
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

  return {
    engine,
    scope,
    head,
    async markedHead(sessionId) {
      const found = await head(sessionId)
      // Its messages may be newer than what is known of the session itself: then there is nothing to mark.
      const mayBeOver = (expiryOf(found, changedAtMs(found)) ?? Number.POSITIVE_INFINITY) <= engine.clock()
      if (found.status !== 'active' || !mayBeOver) return found
      await execute(found, expireIfDue)
      return head(sessionId)
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
