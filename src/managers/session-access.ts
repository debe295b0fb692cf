/** One session as the managers read and write it: its head, its window, an event of its log, a decision about it. */
import type { Decision } from '../commands/decision.ts'
import type { Engine, Scope } from '../engine.ts'
import { NotFound } from '../errors.ts'
import type { ConversationEvent } from '../events/event.ts'
import type { SessionHead } from '../views/session.ts'

export type EventOf<T extends ConversationEvent['type']> = Extract<ConversationEvent, { type: T }>

export interface SessionAccess {
  readonly engine: Engine
  readonly scope: Scope
  /** @throws {NotFound} when there is none, or it was deleted */
  head(sessionId: string): Promise<SessionHead>
  /** The event at a version of the session's conversation, if it is of that type. */
  eventAt<T extends ConversationEvent['type']>(
    head: SessionHead,
    version: number | undefined,
    type: T,
  ): Promise<EventOf<T> | undefined>
  execute(head: SessionHead, decide: Decision): ReturnType<Engine['execute']>
}

export function sessionAccess(engine: Engine, scope: Scope): SessionAccess {
  return {
    engine,
    scope,
    async head(sessionId) {
      const head = await engine.store.session(scope.project, sessionId)
      if (!head || head.status === 'deleted') throw new NotFound('session', sessionId)
      return head
    },
    eventAt: (head, version, type) => eventAt(engine, head, version, type),
    execute: (head, decide) =>
      engine.execute(scope, {
        conversation: { id: head.conversationId },
        session: { id: head.id },
        decide,
        asked: [],
      }),
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
