/** Removes the content of one message. Its digest, hash and place stay, so the chain still proves what is left. */
import { IllegalState, NotFound } from '../../errors.ts'
import type { ConversationEvent } from '../../events/event.ts'
import type { Origin } from '../../events/recorded.ts'
import type { Proposal } from '../../log/event-log.ts'
import { wipedDigest } from '../../log/proposal.ts'
import { checksum } from '../../log/stored-row.ts'
import type { Database } from './database.ts'
import type { HeadStore } from './heads.ts'

type FoundRow = [
  position: number,
  version: number,
  isErased: number,
  conversationId: string,
  at: number,
  lane: number | null,
  type: string,
]

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
    wipeKeys: database.prepare(`
      update keys set digest = '${wipedDigest}'
      where project = ? and conversation_id = ? and first_version <= ?3 and last_version >= ?3`),
    archives: database.prepare('select archive from purges where project = ? and conversation_id = ?'),
  }

  /** `places` are the positions the index knows for the id. */
  return (
    request: { project: string; messageId: string; reason?: string; origin: Origin },
    places: readonly number[],
  ) => {
    const { project, messageId, reason, origin } = request
    const projectRow = heads.projectRow(project)
    const found = places
      .map(place => sql.find.get(place, messageId, projectRow ?? 0) as FoundRow | undefined)
      .find(row => row !== undefined)
    if (!found || projectRow === undefined) throw new NotFound('message', messageId)
    const [position, version, isErased, conversationId, at, lane, type] = found
    if (isErased) throw new IllegalState(`Message ${messageId} was erased before.`, { messageId })
    const event: ConversationEvent = {
      type: 'message.erased',
      messageId,
      version,
      ...(reason !== undefined && { reason }),
    }
    append({ project, conversation: { id: conversationId }, expected: 'any', decide: () => [event], origin })
    sql.erase.run(checksum({ version, at, lane, type, message: messageId, body: null }), position)
    sql.wipeKeys.run(projectRow, conversationId, version)
    for (const [blob] of sql.uses.all(position) as Array<[number]>) sql.blob.run(blob)
    const archives = (sql.archives.all(projectRow, conversationId) as Array<[string]>).map(([archive]) => archive)
    return { conversationId, version, archives }
  }
}
