/** Removes a conversation after its archive was written. One transaction: it is all there, or all gone. */
import { IllegalState } from '../../../errors.ts'
import type { Database } from '../database.ts'
import { type HeadStore, headStore } from '../heads.ts'
import { lastPosition } from '../position.ts'
import { inTransaction } from '../transaction.ts'
import type { Operations } from '../worker/protocol.ts'

export function purger(database: Database) {
  const heads = headStore(database)
  const sql = {
    uses: database.prepare(
      'delete from blob_uses where position in (select position from events where conversation = ?)',
    ),
    blobs: database.prepare('delete from blobs where not exists (select 1 from blob_uses u where u.blob = blobs.blob)'),
    events: database.prepare('delete from events where conversation = ?'),
    lanes: database.prepare('delete from lanes where conversation = ?'),
    sessions: database.prepare('delete from sessions where conversation = ?'),
    conversation: database.prepare('delete from conversations where conversation = ?'),
    floor: database.prepare(`update meta set value = ${lastPosition()} where name = 'position_floor'`),
    record: database.prepare(`
      insert into purges (project, conversation_id, archive, events, hash, at, actor, channel, request, reason)
      values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`),
  }

  /** The conversation's row, if it is as it was when its archive was written. */
  function find({ project, conversationId, hash }: Operations['purge']['takes']): number {
    heads.forget()
    const entry = heads.conversation(project, conversationId)
    refuseWithBranches(heads, project, conversationId)
    if (entry && Buffer.from(entry.hash).toString('base64') === hash) return entry.row
    throw new IllegalState(
      `Conversation ${conversationId} changed while its archive was written. Nothing was purged; purge it again.`,
    )
  }

  /** Removes it and returns how many events that were, and the number of the purge. */
  function remove(input: Operations['purge']['takes']): { events: number; purge: number } {
    const { project, conversationId, archive, now, reason, origin } = input
    // What refers to a row that goes, goes with it below. Looking for it would read the whole log for every lane.
    database.exec('pragma foreign_keys = off')
    try {
      return inTransaction(database, () => {
        const row = find(input)
        const { hash } = heads.conversation(project, conversationId)!
        // Positions are never used again, even if the newest events are the ones that go.
        sql.floor.run()
        sql.uses.run(row)
        const events = Number(sql.events.run(row).changes)
        for (const step of [sql.lanes, sql.sessions, sql.conversation]) step.run(row)
        sql.blobs.run()
        const { lastInsertRowid } = sql.record.run(
          heads.projectRow(project)!,
          conversationId,
          archive,
          events,
          hash,
          now,
          origin.actor,
          origin.channel,
          origin.requestId ?? null,
          reason ?? null,
        )
        return { events, purge: Number(lastInsertRowid) }
      })
    } finally {
      database.exec('pragma foreign_keys = on')
      heads.forget()
    }
  }

  return { find, remove }
}

/** What others hang on is not taken from under them. */
export function refuseWithBranches(heads: HeadStore, project: string, conversationId: string): void {
  const branch = heads.branchOf(project, conversationId)
  if (branch === undefined) return
  throw new IllegalState(
    `Conversation ${branch} branches off ${conversationId} and needs it. Nothing was purged; purge the branch first.`,
    { conversationId, branch },
  )
}
