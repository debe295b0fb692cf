import type { Resolves } from '../events/reference.ts'
import { resolvedAt } from '../views/references.ts'
import { type Decision, openConversationIn } from './decision.ts'
import { messageOutsideSessions, type PreparedMessage } from './message.ts'

/** Records the content of a reference, once when several processes looked it up at the same time. */
export function recordReference(
  conversationId: string,
  {
    message,
    resolves,
    digest,
    after,
  }: {
    message: PreparedMessage
    resolves: Resolves
    digest: string
    /** Lookups before this version do not count. */
    after: number
  },
): Decision {
  return heads => {
    const { info, version } = openConversationIn(heads, conversationId)
    if (resolvedAt(info.references, digest, after) !== undefined) return []
    const { messageId } = message
    return [
      { ...messageOutsideSessions(message), resolves },
      { type: 'reference.resolved', messageId, version: version + 1, of: resolves.of, digest },
    ]
  }
}
