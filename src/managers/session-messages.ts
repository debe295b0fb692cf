/** A session's messages, by the kinds a caller wants to see. */
import type { Engine } from '../engine.ts'
import type { LaneKind } from '../log/lane.ts'
import { windowOf } from '../log/windows.ts'
import type { Message } from '../views/message.ts'
import type { SessionHead } from '../views/session.ts'
import { type MessagePage, messagesIn } from './long-reads.ts'

export function pageOf(
  { store }: Engine,
  head: SessionHead,
  kinds: readonly LaneKind[],
  page: MessagePage,
): Promise<Message[]> {
  return messagesIn(store, windowOf(head, kinds), page)
}

export async function firstSystemMessage({ store }: Engine, head: SessionHead): Promise<number | undefined> {
  const window = windowOf(head, ['system'])
  if (window.kept.length > 0) return window.kept[0]
  const [first] = await store.messages(window, { limit: 1, after: 0 })
  return first?.version
}
