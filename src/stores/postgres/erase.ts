/** Removes the content of one message. Its digest, hash and place stay, so the chain still proves what is left. */
import { IllegalState, NotFound } from '../../errors.ts'
import type { ConversationEvent } from '../../events/event.ts'
import type { Origin } from '../../events/recorded.ts'
import { wipedDigest } from '../../log/proposal.ts'
import { checksum } from '../../log/stored-row.ts'
import type { Erased } from '../../log/upkeep.ts'
import type { Run } from './database.ts'
import { removeUnused } from './purge.ts'
import type { Writer } from './writer.ts'

export interface EraseInput {
  project: string
  number: number
  messageId: string
  reason: string | undefined
  origin: Origin
  place: { conversation: number; conversationId: string; version: number }
}

/** Runs in a transaction that holds the conversation's lock. */
export async function erase(run: Run, appendWithin: Writer['appendWithin'], input: EraseInput): Promise<Erased> {
  const { project, number, messageId, reason, origin, place } = input
  const { conversation, conversationId, version } = place
  const [found] = await run<[boolean, number, string, number]>(
    `select body is null, at, type, lane from events
    where project = $1 and conversation = $2 and version = $3 and message = $4`,
    [number, conversation, version, messageId],
  )
  if (!found) throw new NotFound('message', messageId)
  const [isErased, at, type, lane] = found
  if (isErased) throw new IllegalState(`Message ${messageId} was erased before.`, { messageId })
  const event: ConversationEvent = {
    type: 'message.erased',
    messageId,
    version,
    ...(reason !== undefined && { reason }),
  }
  await appendWithin(run, {
    project,
    conversation: { id: conversationId },
    expected: 'any',
    decide: () => [event],
    origin,
  })
  const crc = checksum({ version, at, lane: null, type, message: messageId, body: null })
  await run(
    `update events set body = null, salt = null, crc = $4 where project = $1 and conversation = $2 and version = $3`,
    [number, conversation, version, crc],
  )
  // Without words from now on, also if somebody is taking the message into the index at this moment.
  await run(
    `insert into docs (project, conversation, version, lane, at, author, role, message, length, words)
    values ($1, $2, $3, $4, $5, '', '', $6, 0, '')
    on conflict (project, conversation, version) do update set author = '', role = '', phase = null, length = 0, words = ''`,
    [number, conversation, version, lane, at, messageId],
  )
  // Heads kept from earlier times may quote it.
  await run('delete from landmarks where project = $1 and conversation = $2', [number, conversation])
  await run(
    `update keys set digest = $4 where project = $1 and conversation_id = $2 and first_version <= $3 and last_version >= $3`,
    [number, conversationId, version, wipedDigest],
  )
  const uses = await run<[string]>(
    'delete from blob_uses where project = $1 and conversation = $2 and version = $3 returning digest',
    [number, conversation, version],
  )
  await removeUnused(
    run,
    number,
    uses.map(([digest]) => digest),
  )
  const archives = await run<[string]>(
    'select archive from purges where project = $1 and conversation_id = $2 order by purge',
    [number, conversationId],
  )
  return { conversationId, version, archives: archives.map(([archive]) => archive) }
}
