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
 * What was said last, as it can be handed to a model or shown in a chat. A message whose content is gone is passed over:
 * nobody knows any more who said it, and as a message without words it would be refused.
 */
export async function newestReadable(engine: Engine, head: SessionHead, limit: number): Promise<Message[]> {
  let found: Message[] = []
  let before: number | undefined
  for (;;) {
    const size = limit - found.length
    const page = await pageOf(engine, head, ['talk'], { limit: size, ...(before !== undefined && { before }) })
    found = [...page.filter(message => !message.missing), ...found]
    if (page.length < size || found.length === limit) return found
    before = page[0]!.version
  }
}

/** The version of the first system message that still says something: one without content would be kept in place of it. */
export async function firstSystemMessage({ store }: Engine, head: SessionHead): Promise<number | undefined> {
  const window = windowOf(head, ['system'])
  for (let after = 0; ; ) {
    const [first] = await store.messages(window, { limit: 1, after })
    if (!first?.missing) return first?.version
    after = first.version
  }
}
