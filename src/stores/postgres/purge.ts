/** Removes a conversation after its archive was written. One transaction: it is all there, or all gone. */
import { IllegalState } from '../../errors.ts'
import type { Origin } from '../../log/events/recorded-event.ts'
import { refuseWithBranches } from './branches.ts'
import type { Run } from './database.ts'

export interface PurgeInput {
  number: number
  conversationId: string
  archive: string
  /** The hash of its newest event when the archive was written. */
  hash: Uint8Array
  now: number
  reason: string | undefined
  origin: Origin
}

/** Returns how many events were removed. Runs in a transaction that holds the conversation's lock. */
export async function purge(run: Run, input: PurgeInput): Promise<number> {
  const { number, conversationId, archive, hash, now, reason, origin } = input
  const [found] = await run<[number, Uint8Array]>(
    'select conversation, hash from conversations join ends using (project, conversation) where project = $1 and id = $2',
    [number, conversationId],
  )
  if (!found || Buffer.compare(found[1], hash) !== 0) {
    throw new IllegalState(
      `Conversation ${conversationId} changed while its archive was written. Nothing was purged; purge it again.`,
    )
  }
  await refuseWithBranches(run, { number, conversation: found[0], conversationId })
  const place = [number, found[0]]
  for (const table of ['docs', 'landmarks']) {
    await run(`delete from ${table} where project = $1 and conversation = $2`, place)
  }
  const uses = await run<[string]>(
    'delete from blob_uses where project = $1 and conversation = $2 returning digest',
    place,
  )
  const events = await run('delete from events where project = $1 and conversation = $2 returning 1', place)
  for (const table of ['lanes', 'sessions', 'ends', 'conversations']) {
    await run(`delete from ${table} where project = $1 and conversation = $2`, place)
  }
  await removeUnused(
    run,
    number,
    uses.map(([digest]) => digest),
  )
  await run(
    `insert into purges (project, conversation_id, archive, events, hash, at, actor, channel, request, reason)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
    [
      number,
      conversationId,
      archive,
      events.length,
      hash,
      now,
      origin.actor,
      origin.channel,
      origin.requestId ?? null,
      reason ?? null,
    ],
  )
  return events.length
}

/** Removes blobs that nothing uses any more. */
export async function removeUnused(run: Run, project: number, digests: readonly string[]): Promise<void> {
  if (digests.length === 0) return
  await run(
    `delete from blobs b where b.project = $1 and b.digest = any($2::text[])
      and not exists (select 1 from blob_uses u where u.project = b.project and u.digest = b.digest)`,
    [project, digests],
  )
}
