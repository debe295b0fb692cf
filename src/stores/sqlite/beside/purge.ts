/** Removes a conversation after its archive was written. One transaction: it is all there, or all gone. */
import { IllegalState } from '../../../errors.ts'
import type { Database } from '../database.ts'
import { headStore } from '../heads.ts'
import type { Operations } from './protocol.ts'

export function purger(database: Database) {
  const heads = headStore(database)
  const sql = {
    positions: database.prepare('select position from events where conversation = ?'),
    uses: database.prepare(`
      delete from blob_uses where position in (select position from events where conversation = ?)`),
    blobs: database.prepare('delete from blobs where not exists (select 1 from blob_uses u where u.blob = blobs.blob)'),
    events: database.prepare('delete from events where conversation = ?'),
    lanes: database.prepare('delete from lanes where conversation = ?'),
    sessions: database.prepare('delete from sessions where conversation = ?'),
    conversation: database.prepare('delete from conversations where conversation = ?'),
    floor: database.prepare(`
      update meta set value = (select max(coalesce(max(position), 0), cast(value as integer)) from events)
      where name = 'position_floor'`),
    record: database.prepare(`
      insert into purges (project, conversation_id, archive, events, hash, at, actor, channel, request, reason)
      values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`),
  }

  return (input: Operations['purge']['takes']): { events: number; positions: number[] } => {
    const { project, conversationId, archive, hash, now, reason, origin } = input
    database.exec('begin immediate')
    try {
      heads.refresh()
      const entry = heads.conversation(project, conversationId)
      if (!entry || Buffer.from(entry.hash).toString('base64') !== hash) {
        throw new IllegalState(
          `Conversation ${conversationId} changed while its archive was written. Nothing was purged; purge it again.`,
        )
      }
      const positions = (sql.positions.all(entry.row) as Array<[number]>).map(([position]) => position)
      // Positions are never used again, even if the newest events are the ones that go.
      sql.floor.run()
      sql.uses.run(entry.row)
      for (const step of [sql.events, sql.lanes, sql.sessions, sql.conversation]) step.run(entry.row)
      sql.blobs.run()
      sql.record.run(
        heads.projectRow(project)!,
        conversationId,
        archive,
        positions.length,
        entry.hash,
        now,
        origin.actor,
        origin.channel,
        origin.requestId ?? null,
        reason ?? null,
      )
      database.exec('commit')
      heads.forget()
      return { events: positions.length, positions }
    } catch (error) {
      heads.forget()
      database.exec('rollback')
      throw error
    }
  }
}
