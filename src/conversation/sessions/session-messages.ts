/** A session's messages, by the kinds a caller wants to see. */
import type { Engine } from '../../log/engine.ts'
import type { LaneKind } from '../../log/records/lane.ts'
import type { Message } from '../../log/views/message.ts'
import type { SessionHead } from '../../log/views/session.ts'
import { windowOf } from '../../log/windows.ts'
import { type MessagePage, messagesIn } from '../access/sliced-lists.ts'

export function pageOf(
  { store }: Engine,
  head: SessionHead,
  kinds: readonly LaneKind[],
  page: MessagePage,
): Promise<Message[]> {
  return messagesIn(store, windowOf(head, kinds), page)
}

/**
 * The newest messages that a model or a chat can show. Messages without content are skipped: their author is unknown,
 * and a provider would refuse them.
 */
export async function newestReadable(engine: Engine, head: SessionHead, limit: number): Promise<Message[]> {
  let messages: Message[] = []
  let before: number | undefined
  for (;;) {
    const size = limit - messages.length
    const page = await pageOf(engine, head, ['talk'], { limit: size, ...(before !== undefined && { before }) })
    messages = [...page.filter(message => !message.missing), ...messages]
    if (page.length < size || messages.length === limit) return messages
    before = page[0]!.version
  }
}

/** The version of the first system message that still has content. */
export async function firstSystemMessage({ store }: Engine, head: SessionHead): Promise<number | undefined> {
  const window = windowOf(head, ['system'])
  for (let after = 0; ; ) {
    const [first] = await store.messages(window, { limit: 1, after })
    if (!first?.missing) return first?.version
    after = first.version
  }
}
