/**
 * Removes the content of one message, and of facts that repeat it what they repeat. Digests, hashes and places stay, so
 * the chain still proves what is left.
 */
import { IllegalState, NotFound, VersionConflict } from '../../../errors.ts'
import type { Proposal } from '../../../log/event-log.ts'
import type { ConversationEvent } from '../../../log/events/event.ts'
import type { Origin } from '../../../log/events/recorded-event.ts'
import { type Copies, type RewrittenRow, repeatingTypes, rewrittenRow } from '../../../log/records/erased-copies.ts'
import { checksum } from '../../../log/records/stored-row.ts'
import type { Upkeep } from '../../../log/upkeep.ts'
import { wipedDigest } from '../../common/proposal.ts'
import type { Database } from '../database.ts'
import type { HeadStore } from '../heads.ts'

type FoundRow = [
  position: number,
  version: number,
  isErased: number,
  conversationId: string,
  at: number,
  lane: number | null,
  type: string,
]

const types = [...repeatingTypes].map(type => `'${type}'`).join(', ')

export function eraser({
  database,
  heads,
  append,
}: {
  database: Database
  heads: HeadStore
  append: (proposal: Proposal) => unknown
}) {
  const sql = {
    find: database.prepare(`
      select e.position, e.version, e.body is null, c.id, e.at, e.lane, e.type from events e join conversations c using (conversation)
      where e.position = ? and e.message = ? and c.project = ?`),
    erase: database.prepare('update events set body = null, salt = null, crc = ? where position = ?'),
    uses: database.prepare('delete from blob_uses where position = ? returning blob'),
    blob: database.prepare(
      'delete from blobs where blob = ?1 and not exists (select 1 from blob_uses where blob = ?1)',
    ),
    newestRepeating: database.prepare(`
      select version from events where conversation = ? and lane is null and type in (${types}) order by version desc limit 1`),
    fact: database.prepare(
      'select position, at from events where conversation = ? and lane is null and version = ? and type = ?',
    ),
    rewrite: database.prepare('update events set body = ?, salt = ?, crc = ? where position = ?'),
    wipeKeys: database.prepare(`
      update keys set digest = '${wipedDigest}'
      where project = ? and conversation_id = ? and first_version <= ?3 and last_version >= ?3`),
    archives: database.prepare('select archive from purges where project = ? and conversation_id = ?'),
  }

  /** `places` are the positions the index knows for the id. */
  function erase(
    request: { project: string; messageId: string; reason?: string; origin: Origin; copies?: Copies },
    places: readonly number[],
  ) {
    const { project, messageId, copies } = request
    const projectRow = heads.projectRow(project)
    const found = places
      .map(place => sql.find.get(place, messageId, projectRow ?? 0) as FoundRow | undefined)
      .find(row => row !== undefined)
    if (!found || projectRow === undefined) throw new NotFound('message', messageId)
    const [position, version, isErased, conversationId, at, lane, type] = found
    if (isErased) throw new IllegalState(`Message ${messageId} was erased before.`, { messageId })
    tell({ ...request, conversationId, message: { id: messageId, version }, copies })
    sql.erase.run(checksum({ version, at, lane, type, message: messageId, body: null }), position)
    sql.wipeKeys.run(projectRow, conversationId, version)
    for (const [blob] of sql.uses.all(position) as Array<[number]>) sql.blob.run(blob)
    return { conversationId, version, archives: archivesOf(projectRow, conversationId) }
  }

  function rewrite(request: Parameters<Upkeep['rewrite']>[0]): string[] {
    tell(request)
    return archivesOf(heads.projectRow(request.project)!, request.conversationId)
  }

  function archivesOf(projectRow: number, conversationId: string): string[] {
    return (sql.archives.all(projectRow, conversationId) as Array<[string]>).map(([archive]) => archive)
  }

  /** Records that it is gone, and writes anew what repeats it. Refuses before it writes anything. */
  function tell(request: Rewriting): void {
    const { project, conversationId, message, reason, origin, copies } = request
    const conversation = heads.conversationRow(project, conversationId) ?? 0
    const newest = copies && (sql.newestRepeating.get(conversation) as [number] | undefined)?.[0]
    if (copies && newest !== undefined && newest > copies.upTo) {
      throw new VersionConflict({ conversationId, expected: copies.upTo, actual: newest })
    }
    const rows = copies?.facts.map(rewrittenRow) ?? []
    const event: ConversationEvent = {
      type: 'message.erased',
      messageId: message.id,
      version: message.version,
      ...(reason !== undefined && { reason }),
      ...(copies && { rewritten: rows.map(({ version, digest }) => ({ version, digest })) }),
    }
    append({ project, conversation: { id: conversationId }, expected: 'any', decide: () => [event], origin })
    for (const row of rows) write(conversation, row)
  }

  function write(conversation: number, { version, type, body, salt }: RewrittenRow): void {
    const found = sql.fact.get(conversation, version, type) as [number, number] | undefined
    // No refusal: something was written, and must be taken back.
    if (!found) throw new Error(`the fact at version ${version} that should be written anew is not there`)
    const [position, at] = found
    sql.rewrite.run(body, salt, checksum({ version, at, lane: null, type, message: null, body }), position)
  }

  return { erase, rewrite }
}

type Rewriting = Omit<Parameters<Upkeep['rewrite']>[0], 'copies'> & { copies?: Copies | undefined }
