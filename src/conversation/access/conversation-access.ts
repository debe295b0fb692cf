/** Access to one conversation: its head, an event of its log, a write. */

import { StoreReadOnly } from '../../errors.ts'
import type { Decision } from '../../log/commands/decision.ts'
import type { Engine, Scope, WriteOptions } from '../../log/engine.ts'
import type { Appended } from '../../log/event-log.ts'
import type { RecordedEvent } from '../../log/events/recorded-event.ts'
import type { ConversationHead } from '../../log/views/conversation.ts'
import { conversationHead } from './conversation-head.ts'

export interface ConversationAccess {
  readonly engine: Engine
  readonly scope: Scope
  /**
   * @throws {NotFound} when there is no such conversation
   * @throws {ConversationPurged} when it was purged
   */
  head(conversationId: string): Promise<ConversationHead>
  /** The event at a version. Before a branch's first version, that of its parent. */
  eventAt(conversationId: string, version: number): Promise<RecordedEvent | undefined>
  execute(conversationId: string, write: Write): Promise<Appended>
  /** Records a repair made while reading. Does nothing in a store that is open for reading only. */
  settle(conversationId: string, decide: Decision, options?: WriteOptions): Promise<number>
}

interface Write {
  decide: Decision
  asked: readonly unknown[]
  options?: WriteOptions | undefined
}

export function conversationAccess(engine: Engine, scope: Scope): ConversationAccess {
  const { store } = engine
  const { project } = scope
  const execute: ConversationAccess['execute'] = (id, { decide, asked, options }) =>
    engine.execute(scope, { conversation: { id }, decide, asked, options })
  return {
    engine,
    scope,
    head: conversationId => conversationHead(store, project, conversationId),
    async eventAt(conversationId, version) {
      const place = { project, conversationId, from: version, to: version }
      const [own] = await store.read(place)
      if (own) return own
      const { branchOf } = (await store.conversation(project, conversationId))?.info ?? {}
      return branchOf && (await store.read({ ...place, branchOf }))[0]
    },
    execute,
    async settle(id, decide, options) {
      try {
        return (await execute(id, { decide, asked: [], options })).events.length
      } catch (error) {
        if (error instanceof StoreReadOnly) return 0
        throw error
      }
    },
  }
}
