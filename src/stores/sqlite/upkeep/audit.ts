/**
 * Who did what, newest first, from the envelopes of the log. An index over actors would cost every append a page; this
 * reads the log backwards instead, without its bodies, a stretch at a time. To its beginning, also when times are asked
 * for: what was restored, or written before a clock was set back, is newer or older than what stands around it.
 */

import { type AuditEntry, type AuditQuery, auditEntry } from '../../../log/accounts.ts'
import { numbersIn } from '../../../log/cursor.ts'
import type { Listed } from '../../../log/directory.ts'
import { eventIn } from '../../../log/records/stored-row.ts'
import { lastMomentOf } from '../../../log/time.ts'
import type { Database } from '../database.ts'
import { blobLoader, type EventRow, eventColumns } from '../rows.ts'
import type { Value } from '../statement.ts'

/** Positions looked at in one go, and in one call. */
const stretch = 10_000
const mostStretches = 5

type Row = [...EventRow, conversationId: string]

export function auditor(database: Database) {
  const sql = {
    project: database.prepare('select project from projects where id = ?'),
    newest: database.prepare('select position from events where position < ? order by position desc limit 1'),
  }
  const blobs = blobLoader(database)

  return ({ limit = 100, cursor, ...query }: AuditQuery): Listed<AuditEntry> => {
    const project = (sql.project.get(query.project) as [number] | undefined)?.[0]
    const items: AuditEntry[] = []
    if (project === undefined) return { items }
    const found = matching(database, query, project)
    let before = cursor === undefined ? Number.MAX_SAFE_INTEGER : numbersIn(cursor, 1)[0]!
    for (let stretches = 0; ; stretches++) {
      const top = sql.newest.get(before) as [number] | undefined
      if (!top) return { items }
      if (stretches >= mostStretches) return { items, next: String(before) }
      const floor = Math.max(0, top[0] - stretch)
      for (const row of found(floor, before, limit - items.length)) {
        items.push(entryOf(row, project))
        if (items.length >= limit) return { items, next: String(row[0]) }
      }
      before = floor + 1
    }
  }

  function entryOf(row: Row, project: number): AuditEntry {
    const [, version, type, schema, at, actor, channel, request, message, lane, crc, body, , conversationId] = row
    const event = eventIn({ version, at, lane, type, schema, message, crc, body }, blobs(project))
    return auditEntry({ conversationId, version, at, actor, channel, request, type }, event)
  }
}

function matching(database: Database, query: Omit<AuditQuery, 'limit' | 'cursor'>, project: number) {
  const { actor, channel, requestId, type, conversationId, since, until } = query
  const conditions: string[] = []
  const values: Value[] = []
  const want = (condition: string, value: Value | undefined) => {
    if (value === undefined) return
    conditions.push(` and ${condition}`)
    values.push(value)
  }
  want('e.actor = ?', actor)
  want('e.channel = ?', channel)
  want('e.request = ?', requestId)
  want('e.type = ?', type)
  want('c.id = ?', conversationId)
  want('e.at >= ?', since === undefined ? undefined : Date.parse(since))
  want('e.at <= ?', until === undefined ? undefined : lastMomentOf(until))
  // The plus keeps the conversation's index out of it: positions are what it goes by.
  const statement = database.prepare(`
    select ${eventColumns}, c.id from events e cross join conversations c
    where e.position > ? and e.position < ? and c.conversation = +e.conversation and c.project = ?${conditions.join('')}
    order by e.position desc limit ?`)
  return (above: number, below: number, limit: number) =>
    statement.all(above, below, project, ...values, limit) as Row[]
}
