/**
 * Removes the content of one message, and of facts that repeat it what they repeat. Digests, hashes and places stay, so
 * the chain still proves what is left.
 */
import { IllegalState, NotFound, VersionConflict } from '../../errors.ts'
import type { ConversationEvent } from '../../log/events/event.ts'
import type { Origin } from '../../log/events/recorded-event.ts'
import { type Copies, repeatingTypes, rewrittenRow } from '../../log/records/erased-copies.ts'
import { checksum } from '../../log/records/stored-row.ts'
import type { Erased } from '../../log/upkeep.ts'
import { wipedDigest } from '../common/proposal.ts'
import type { Run } from './database.ts'
import { removeUnused } from './purge.ts'
import type { Writer } from './writer.ts'

export interface EraseInput {
  project: string
  number: number
  messageId: string
  reason: string | undefined
  origin: Origin
  copies?: Copies | undefined
  place: { conversation: number; conversationId: string; version: number }
}

/** Runs in a transaction that holds the conversation's lock. */
export async function erase(run: Run, appendWithin: Writer['appendWithin'], input: EraseInput): Promise<Erased> {
  const { number, messageId, place } = input
  const { conversation, conversationId, version } = place
  const [found] = await run<[boolean, number, string, number]>(
    `select body is null, at, type, lane from events
    where project = $1 and conversation = $2 and version = $3 and message = $4`,
    [number, conversation, version, messageId],
  )
  if (!found) throw new NotFound('message', messageId)
  const [isErased, at, type, lane] = found
  if (isErased) throw new IllegalState(`Message ${messageId} was erased before.`, { messageId })
  await rewrite(run, appendWithin, input)
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
  return { conversationId, version, archives: await archivesOf(run, number, conversationId) }
}

/** Where it went whenever it was purged. */
export async function archivesOf(run: Run, number: number, conversationId: string): Promise<string[]> {
  const archives = await run<[string]>(
    'select archive from purges where project = $1 and conversation_id = $2 order by purge',
    [number, conversationId],
  )
  return archives.map(([archive]) => archive)
}

/**
 * Records that it is gone, and writes anew what repeats it. Runs in a transaction that holds the conversation's lock; the
 * place is where the fact goes and the version the message has.
 */
export async function rewrite(run: Run, appendWithin: Writer['appendWithin'], input: EraseInput): Promise<void> {
  const { project, number, messageId, reason, origin, copies, place } = input
  const { conversation, conversationId, version } = place
  if (copies) {
    const [newest] = await run<[number]>(
      `select version from events where project = $1 and conversation = $2 and lane is null and type = any($3::text[])
      order by version desc limit 1`,
      [number, conversation, [...repeatingTypes]],
    )
    if (newest && newest[0] > copies.upTo) {
      throw new VersionConflict({ conversationId, expected: copies.upTo, actual: newest[0] })
    }
  }
  const rows = copies?.facts.map(rewrittenRow) ?? []
  const event: ConversationEvent = {
    type: 'message.erased',
    messageId,
    version,
    ...(reason !== undefined && { reason }),
    ...(copies && { rewritten: rows.map(row => ({ version: row.version, digest: row.digest })) }),
  }
  const decide = () => [event]
  await appendWithin(run, { project, conversation: { id: conversationId }, expected: 'any', decide, origin })
  for (const { version: of, type, body, salt } of rows) {
    const [found] = await run<[number]>(
      'select at from events where project = $1 and conversation = $2 and version = $3 and type = $4',
      [number, conversation, of, type],
    )
    if (!found) throw new Error(`the fact at version ${of} that should be written anew is not there`)
    const crc = checksum({ version: of, at: found[0], lane: null, type, message: null, body })
    await run(
      'update events set body = $4, salt = $5, crc = $6 where project = $1 and conversation = $2 and version = $3',
      [number, conversation, of, body, salt, crc],
    )
  }
}
