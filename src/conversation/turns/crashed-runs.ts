/** Ends the runs of a conversation whose lease ran out because their process is gone. */
import { endCrashed } from '../../log/commands/run.ts'
import type { WriteOptions } from '../../log/engine.ts'
import type { ConversationHead } from '../../log/views/conversation.ts'
import type { ConversationAccess } from '../access/conversation-access.ts'

/** Returns how many were dead. */
export async function settleRuns(
  access: ConversationAccess,
  { info }: ConversationHead,
  options?: WriteOptions,
): Promise<number> {
  const { engine, scope } = access
  const dead = new Set<string>()
  for (const { id, sessionId } of info.runs?.open ?? []) {
    const lease = await engine.store.holderOf({ project: scope.project, name: `run ${sessionId}` })
    if (!lease) dead.add(id)
  }
  return dead.size === 0 ? 0 : access.settle(info.id, endCrashed(dead), options)
}
