/** Removes a conversation, in one transaction, once its archive file is written. */
import { IllegalState } from '../../errors.ts'
import type { ConversationPlace, RowStore, Rows } from '../rows.ts'
import { isoTime } from '../time.ts'
import type { PurgedConversation } from '../upkeep.ts'
import type { PurgeInput } from '../upkeep-work.ts'

/** Returns how many events were removed. */
export function purge(store: RowStore, input: PurgeInput): Promise<{ events: number }> {
  const { project, conversationId, archive, hash, now, reason, origin } = input
  const place = { project, conversationId }
  return store.change(place, async rows => {
    const head = await rows.conversation(place)
    if (!head || Buffer.from(head.hash).toString('base64') !== hash) {
      throw new IllegalState(
        `Conversation ${conversationId} changed while its archive was written. Nothing was purged; purge it again.`,
      )
    }
    await refuseWithBranches(rows, place)
    const events = await rows.removeConversation(place)
    await rows.addPurge(project, {
      conversationId,
      archive,
      events,
      hash: head.hash,
      at: now,
      ...origin,
      ...(reason !== undefined && { reason }),
    })
    return { events }
  })
}

/** Refuses to remove a conversation that has branches. */
export async function refuseWithBranches(rows: Rows, place: ConversationPlace): Promise<void> {
  const branch = await rows.branchOf(place)
  if (branch === undefined) return
  const { conversationId } = place
  throw new IllegalState(
    `Conversation ${branch} branches off ${conversationId} and needs it. Nothing was purged; purge the branch first.`,
    { conversationId, branch },
  )
}

/** Lists the purged conversations that were not restored, newest first. */
export async function purges(store: RowStore, project: string): Promise<PurgedConversation[]> {
  const records = await store.rows(rows => rows.purges(project))
  return records
    .filter(({ restoredAt }) => restoredAt === undefined)
    .reverse()
    .map(({ conversationId, archive, at, events }) => ({ conversationId, archive, at: isoTime(at), events }))
}
