/** Takes a copied project in: its rows as they were, under a name that nobody can ask for until all of it is there. */
import { workItemKey } from '../../../log/events/work-item.ts'
import { checksum, wrongChecksum } from '../../../log/records/stored-row.ts'
import {
  type CopiedEvent,
  type CopyBeginning,
  type CopyTarget,
  copyRefused,
  nameWhileCopied,
} from '../../../log/upkeep/copy.ts'
import type { Database } from '../database.ts'
import { lastPosition } from '../position.ts'
import { inTransaction } from '../transaction.ts'
import { copySource } from './copy-out.ts'

const bytes = (base64: string) => Buffer.from(base64, 'base64')

export function copyTarget(database: Database, project: string, from: CopyBeginning, now: () => number): CopyTarget {
  const name = nameWhileCopied(project)
  const marker = `copy ${project}`
  const sql = {
    project: database.prepare('select project from projects where id = ?'),
    addProject: database.prepare('insert into projects (id, created_at) values (?, ?)'),
    rename: database.prepare('update projects set id = ? where project = ?'),
    marker: database.prepare('select value from meta where name = ?'),
    setMarker: database.prepare('insert or replace into meta (name, value) values (?, ?)'),
    dropMarker: database.prepare('delete from meta where name = ?'),
    held: database.prepare(`
      select (select count(*) from conversations where project = ?1), (select count(*) from keys where project = ?1),
        (select count(*) from purges where project = ?1),
        (select count(*) from leases where project = ?1 and expires_at > ?2)`),
    events: database.prepare(`
      select count(*) from events e join conversations c using (conversation) where c.project = ?`),
    position: database.prepare(`select ${lastPosition()}`),
    setFloor: database.prepare(`update meta set value = ? where name = 'position_floor'`),
    purge: database.prepare(`
      insert into purges (project, conversation_id, archive, events, hash, at, actor, channel, request, reason, restored_at)
      values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`),
    conversation: database.prepare('select conversation from conversations where project = ? and id = ?'),
    putConversation: database.prepare(`
      insert into conversations (project, id, work_key, work_type, work_state, work_priority, work_feature, status,
        created_at, recent_at, info, due_at)
      values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      on conflict (project, id) do update set work_key = excluded.work_key, work_type = excluded.work_type,
        work_state = excluded.work_state, work_priority = excluded.work_priority,
        work_feature = excluded.work_feature, status = excluded.status, recent_at = excluded.recent_at,
        info = excluded.info, due_at = excluded.due_at`),
    lane: database.prepare('select lane from lanes where conversation = ? and audience_key = ? and kind = ?'),
    putLane: database.prepare('insert into lanes (conversation, audience_key, kind, audience) values (?, ?, ?, ?)'),
    putEvent: database.prepare(`
      insert into events (position, conversation, version, type, schema, at, actor, channel, request, message,
        lane, messages, tokens, input, output, crc, salt, body, digest, hash)
      values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`),
    putBlob: database.prepare('insert or ignore into blobs (project, digest, json) values (?, ?, ?)'),
    useBlob: database.prepare(`
      insert or ignore into blob_uses (blob, position)
      select blob, ?3 from blobs where project = ?1 and digest = ?2`),
    putSession: database.prepare(`
      insert into sessions (project, id, conversation, session_key, agent, status, expires_at, head)
      select ?1, ?2, conversation, ?4, ?5, ?6, ?7, ?8 from conversations where project = ?1 and id = ?3
      on conflict (project, id) do update set status = excluded.status, expires_at = excluded.expires_at,
        head = excluded.head`),
    putKey: database.prepare(`
      insert or ignore into keys (project, key, digest, conversation_id, first_version, last_version, session_id)
      values (?, ?, ?, ?, ?, ?, ?)`),
  }
  const rowOf = (id: string) => (sql.project.get(id) as [number] | undefined)?.[0]
  const { row, done } = inTransaction(database, begin)

  function begin(): { row: number; done: number } {
    const known = rowOf(name)
    if (known !== undefined) {
      if ((sql.marker.get(marker) as [string] | undefined)?.[0] === from.epoch) {
        return { row: known, done: (sql.events.get(known) as [number])[0] }
      }
      throw copyRefused.isFromElsewhere(project, database.path)
    }
    refuseHeld()
    const made = Number(sql.addProject.run(name, from.createdAt).lastInsertRowid)
    sql.setMarker.run(marker, from.epoch)
    // Positions are counted: those of what was purged have to be missing here too.
    const missing = from.purges.reduce((sum, purge) => sum + purge.events, 0)
    if (missing > 0) sql.setFloor.run(String((sql.position.get() as [number])[0] + missing))
    for (const one of from.purges) {
      const { conversationId, archive, events, hash, at, actor, channel, requestId, reason, restoredAt } = one
      sql.purge.run(
        made,
        conversationId,
        archive,
        events,
        bytes(hash),
        at,
        actor,
        channel,
        requestId,
        reason,
        restoredAt,
      )
    }
    return { row: made, done: 0 }
  }

  /** A project of that name that holds nothing is in nobody's way. */
  function refuseHeld(): number | undefined {
    const there = rowOf(project)
    if (there === undefined) return undefined
    const [conversations, keys, purges, leases] = sql.held.get(there, now()) as [number, number, number, number]
    if (conversations + keys + purges > 0) throw copyRefused.hasOwnData(project, database.path, conversations)
    if (leases > 0) throw copyRefused.isInUse(project, database.path)
    return there
  }

  function putEvent(event: CopiedEvent, position: number): void {
    const { conversationId, version, type, schema, at, lane, sums, body } = event
    const [conversation] = sql.conversation.get(row, conversationId) as [number]
    const laneRow = lane && laneFor(conversation, lane)
    const message = event.messageId
    const checked = { version, at, lane: laneRow, type, message, body }
    const crc = event.isDamaged ? wrongChecksum(checked) : checksum(checked)
    sql.putEvent.run(
      position,
      conversation,
      version,
      type,
      schema,
      at,
      event.actor,
      event.channel,
      event.requestId,
      message,
      laneRow,
      ...(sums ?? ([null, null, null, null] as const)),
      crc,
      event.salt === null ? null : bytes(event.salt),
      body,
      bytes(event.digest),
      bytes(event.hash),
    )
    for (const { digest, json } of event.blobs) {
      sql.putBlob.run(row, digest, Buffer.from(json))
      sql.useBlob.run(row, digest, position)
    }
  }

  function laneFor(conversation: number, { audienceKey, kind, audience }: NonNullable<CopiedEvent['lane']>): number {
    const found = sql.lane.get(conversation, audienceKey, kind) as [number] | undefined
    return found?.[0] ?? Number(sql.putLane.run(conversation, audienceKey, kind, audience).lastInsertRowid)
  }

  return {
    done,
    async putConversations(conversations) {
      inTransaction(database, () => {
        for (const { id, workItem, workType, work, status, createdAt, recentAt, info, dueAt } of conversations) {
          sql.putConversation.run(
            row,
            id,
            workItemKey(workItem),
            workType,
            work?.state ?? null,
            work?.priority ?? null,
            'featureId' in workItem ? workItem.featureId : null,
            status,
            createdAt,
            recentAt,
            info,
            dueAt,
          )
        }
      })
    },
    async putEvents(events) {
      inTransaction(database, () => {
        let [position] = sql.position.get() as [number]
        for (const event of events) putEvent(event, ++position)
      })
    },
    async putSessions(sessions) {
      inTransaction(database, () => {
        for (const { id, conversationId, key, agent, status, expiresAt, head } of sessions) {
          sql.putSession.run(row, id, conversationId, key, agent, status, expiresAt, head)
        }
      })
    },
    async putKeys(keys) {
      inTransaction(database, () => {
        for (const { key, digest, conversationId, firstVersion, lastVersion, sessionId } of keys) {
          sql.putKey.run(row, key, digest, conversationId, firstVersion, lastVersion, sessionId)
        }
      })
    },
    readBack: work => work(copySource(database, name, project)),
    async publish() {
      inTransaction(database, () => {
        const empty = refuseHeld()
        if (empty !== undefined) {
          for (const table of ['leases', 'projects'])
            database.prepare(`delete from ${table} where project = ?`).run(empty)
        }
        sql.rename.run(project, row)
        sql.dropMarker.run(marker)
      })
    },
  }
}

/** Removes what an unfinished copy brought. Its positions stay used, and are accounted for as purged ones are. */
export function discardCopy(database: Database, project: string): void {
  const name = nameWhileCopied(project)
  const find = database.prepare('select project from projects where id = ?')
  database.exec('pragma foreign_keys = off')
  try {
    inTransaction(database, () => {
      const [row] = (find.get(name) as [number] | undefined) ?? []
      if (row === undefined) return
      const within = 'conversation in (select conversation from conversations where project = ?1)'
      const run = (statement: string) => database.prepare(statement).run(row)
      run(`delete from blob_uses where blob in (select blob from blobs where project = ?1)`)
      database.exec(`update meta set value = ${lastPosition()} where name = 'position_floor'`)
      const events = Number(run(`delete from events where ${within}`).changes)
      run(`delete from lanes where ${within}`)
      const [purged] = database.prepare('select coalesce(sum(events), 0) from purges where project = ?').get(row) as [
        number,
      ]
      for (const table of ['sessions', 'conversations', 'blobs', 'keys', 'purges', 'leases', 'projects']) {
        run(`delete from ${table} where project = ?1`)
      }
      const nobody = nameWhileCopied('')
      database.prepare('insert or ignore into projects (id, created_at) values (?, 0)').run(nobody)
      database
        .prepare(`
          insert into purges (project, conversation_id, archive, events, hash, at, actor, channel, restored_at)
          select project, '', '', ?2, x'', 0, 'copy', 'copy', 0 from projects where id = ?1`)
        .run(nobody, events + purged)
      database.prepare('delete from meta where name = ?').run(`copy ${project}`)
    })
  } finally {
    database.exec('pragma foreign_keys = on')
  }
}
