/**
 * Removes the content of one message, and rewrites the facts that repeat it, such as checkpoints. Digests, hashes and
 * versions stay, so the chain still proves what remains.
 */
import { IllegalState, NotFound, VersionConflict } from '../../errors.ts'
import type { ConversationEvent } from '../events/event.ts'
import { repeatingTypes, rewrittenRow } from '../records/erased-copies.ts'
import type { ConversationPlace, RowChanges, RowStore } from '../rows.ts'
import type { Erased } from '../upkeep.ts'
import type { EraseInput } from '../upkeep-work.ts'

export function erase(store: RowStore, input: EraseInput): Promise<Erased> {
  const { project, conversationId, message } = input
  const place = { project, conversationId }
  return store.change(place, async rows => {
    const [row] = await rows.events(place, { after: message.version - 1, upTo: message.version, limit: 1 })
    if (row?.message !== message.id) throw new NotFound('message', message.id)
    if (row.body === null) {
      throw new IllegalState(`Message ${message.id} was erased before.`, { messageId: message.id })
    }
    await recordAndRewrite(rows, input)
    await rows.setContent(place, message.version)
    await rows.wipeKeys(place, message.version)
    return { conversationId, version: message.version, archives: await archivesOf(rows, place) }
  })
}

/**
 * Rewrites facts that repeat a message, and does not erase the message: it was erased before, or will be in the parent
 * of this branch. Returns the addresses of the conversation's archive files.
 */
export function rewrite(store: RowStore, input: EraseInput): Promise<string[]> {
  const place = { project: input.project, conversationId: input.conversationId }
  return store.change(place, async rows => {
    await recordAndRewrite(rows, input)
    return archivesOf(rows, place)
  })
}

async function archivesOf(rows: RowChanges, { project, conversationId }: ConversationPlace): Promise<string[]> {
  return (await rows.purges(project, conversationId)).map(({ archive }) => archive)
}

/** Records that the message is gone, and rewrites what repeats it. Refuses before it writes anything. */
async function recordAndRewrite(rows: RowChanges, input: EraseInput): Promise<void> {
  const { project, conversationId, message, now, reason, origin, copies } = input
  const place = { project, conversationId }
  const newest = copies && (await rows.newestOf(place, [...repeatingTypes]))
  if (copies && newest !== undefined && newest > copies.upTo) {
    throw new VersionConflict({ conversationId, expected: copies.upTo, actual: newest })
  }
  const facts = copies?.facts.map(rewrittenRow) ?? []
  const event: ConversationEvent = {
    type: 'message.erased',
    messageId: message.id,
    version: message.version,
    ...(reason !== undefined && { reason }),
    ...(copies && { rewritten: facts.map(({ version, digest }) => ({ version, digest })) }),
  }
  const decide = () => [event]
  await rows.append({ project, conversation: { id: conversationId }, expected: 'any', decide, origin }, now)
  for (const { version, body, salt } of facts) await rows.setContent(place, version, { body, salt })
}
