/**
 * Who did what, newest first, from the envelopes of the log, backwards by position, a stretch at a time: an index over
 * actors would cost every append, and a question that finds little must not read a whole project in one go. To its
 * beginning, also when times are asked for: what was restored, or written before a clock was set back, is newer or older
 * than what stands around it.
 */

import { type AuditEntry, type AuditQuery, auditEntry } from '../../log/accounts.ts'
import { numbersIn } from '../../log/cursor.ts'
import type { Listed } from '../../log/directory.ts'
import { eventIn } from '../../log/records/stored-row.ts'
import { lastMomentOf } from '../../log/time.ts'
import type { Database } from './database.ts'
import type { Projects } from './projects.ts'
import { blobsOf, type EventRow, eventColumns } from './rows.ts'

/** Events looked at in one go, and in one call. */
const stretch = 10_000
const mostStretches = 5

type Row = [...EventRow, conversationId: string]

export function auditor({ database, projects }: { database: Database; projects: Projects }) {
  const slice = `
    select tx, n, conversation, version, at, actor, channel, request, type from events
    where project = $1 and (tx, n) < ($2, $3) order by tx desc, n desc limit ${stretch}`
  const sql = {
    matching: `
      select ${eventColumns}, c.id
      from (${slice}) s
      join conversations c on c.project = $1 and c.conversation = s.conversation
      join events e on e.project = $1 and e.conversation = s.conversation and e.version = s.version
      where ($4::text is null or s.actor = $4) and ($5::text is null or s.channel = $5)
        and ($6::text is null or s.request = $6) and ($7::text is null or s.type = $7)
        and ($8::text is null or c.id = $8) and ($9::bigint is null or s.at >= $9)
        and ($10::bigint is null or s.at <= $10)
      order by s.tx desc, s.n desc limit $11`,
    bottom: `select tx, n from (${slice}) s order by tx, n limit 1`,
  }

  return async ({ limit = 100, cursor, ...query }: AuditQuery): Promise<Listed<AuditEntry>> => {
    const items: AuditEntry[] = []
    const project = await projects.find(query.project)
    if (project === undefined) return { items }
    const { actor, channel, requestId, type, conversationId, since, until } = query
    const sinceMs = since === undefined ? null : Date.parse(since)
    const untilMs = until === undefined ? null : lastMomentOf(until)
    const wanted = [actor, channel, requestId, type, conversationId].map(value => value ?? null)
    let before = cursor === undefined ? [Number.MAX_SAFE_INTEGER, 0] : numbersIn(cursor, 2)
    for (let stretches = 0; ; stretches++) {
      if (stretches >= mostStretches) return { items, next: before.join('.') }
      const rows = await database.read<Row>(sql.matching, [
        project,
        ...before,
        ...wanted,
        sinceMs,
        untilMs,
        limit - items.length,
      ])
      const load = await blobsOf(
        database.read,
        project,
        rows.map(row => row[11]),
      )
      for (const row of rows) {
        const [tx, n, version, type, schema, at, actor, channel, request, message, crc, body] = row
        const event = eventIn({ version, at, lane: null, type, schema, message, crc, body }, load)
        items.push(auditEntry({ conversationId: row[13], version, at, actor, channel, request, type }, event))
        if (items.length >= limit) return { items, next: `${tx}.${n}` }
      }
      const [bottom] = await database.read<[number, number]>(sql.bottom, [project, ...before])
      if (!bottom) return { items }
      before = bottom
    }
  }
}
