/**
 * Erases a message, and with it what was looked up because it referred to it: a copy that nobody would think of.
 */
import type { Engine, Scope } from '../engine.ts'
import { NotFound } from '../errors.ts'
import type { Erased } from '../log/upkeep.ts'

export interface ErasedMessage extends Erased {
  /** Versions of the contents of its references, erased with it. */
  contents: number[]
}

const pageSize = 1000

export async function eraseMessage(
  { store }: Engine,
  { project, ...origin }: Scope,
  messageId: string,
  reason?: string,
): Promise<ErasedMessage> {
  const message = await store.message(project, messageId)
  if (!message) throw new NotFound('message', messageId)
  const request = { project, origin, ...(reason !== undefined && { reason }) }
  const contents: number[] = []
  // The message last: whoever is cut off before asks again and finds the rest.
  for (const content of message.missing ? [] : await contentsOf(message)) {
    const found = await store.message(project, content.messageId)
    if (!found || found.missing) continue
    await store.erase({ ...request, messageId: content.messageId })
    contents.push(content.version)
  }
  return { ...(await store.erase({ ...request, messageId })), contents }

  async function contentsOf({ conversationId, version: of }: { conversationId: string; version: number }) {
    const found: Array<{ messageId: string; version: number }> = []
    for (let from = of + 1; ; ) {
      const page = await store.read({ project, conversationId, from, limit: pageSize, facts: true })
      for (const { event } of page) {
        if (event.type === 'reference.resolved' && event.of === of) found.push(event)
      }
      const last = page.at(-1)
      if (page.length < pageSize || !last) return found
      from = last.version + 1
    }
  }
}
