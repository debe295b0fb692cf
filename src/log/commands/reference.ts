/** The content of a reference is recorded: once, however many looked it up at the same time. */
import type { Resolves } from '../events/reference.ts'
import { resolvedAt } from '../views/references.ts'
import { type Decision, openConversationIn } from './decision.ts'
import { type Placed, saidToConversation } from './message.ts'

export function recordReference(
  conversationId: string,
  {
    placed,
    resolves,
    digest,
    after,
  }: {
    placed: Placed
    resolves: Resolves
    digest: string
    /** What was looked up before this version does not count. */
    after: number
  },
): Decision {
  return heads => {
    const { info, version } = openConversationIn(heads, conversationId)
    if (resolvedAt(info.references, digest, after) !== undefined) return []
    const { messageId } = placed
    return [
      { ...saidToConversation(placed), resolves },
      { type: 'reference.resolved', messageId, version: version + 1, of: resolves.of, digest },
    ]
  }
}
