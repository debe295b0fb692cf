/**
 * Lists events by their actor, channel, type or time, newest first. Reads the envelopes of the log backwards by position,
 * because an index over actors would cost every append. A call reads a limited number of pages, and returns a cursor to
 * go on from.
 *
 * A query by time does not stop at its earliest moment: events that were restored, or written before a clock was set
 * back, are not in the order of time.
 */
import type { AuditEntry, AuditQuery } from '../accounts.ts'
import type { Listed } from '../directory.ts'
import type { EnvelopeRow, RowStore, Rows } from '../rows.ts'
import { isoTime, lastMomentOf } from '../time.ts'
import { eventOf } from './event-rows.ts'

/** Max envelopes of a page, and max pages of a call. */
const envelopes = { perPage: 2000, pages: 25 }

export function audit(store: RowStore, { limit = 100, cursor, ...query }: AuditQuery): Promise<Listed<AuditEntry>> {
  const matches = matcher(query)
  return store.rows(async rows => {
    const items: AuditEntry[] = []
    let before = cursor
    for (let pages = 0; pages < envelopes.pages; pages++) {
      const page = await rows.envelopes({ project: query.project, before, limit: envelopes.perPage })
      for (const row of page.rows) {
        if (!matches(row)) continue
        items.push(await entryOf(rows, query.project, row))
        if (items.length >= limit) return { items, next: row.cursor }
      }
      before = page.next
      if (before === undefined) return { items }
    }
    return { items, ...(before !== undefined && { next: before }) }
  })
}

function matcher(query: Omit<AuditQuery, 'limit' | 'cursor'>): (row: EnvelopeRow) => boolean {
  const { actor, channel, requestId, type, conversationId, since, until } = query
  const earliest = since === undefined ? Number.NEGATIVE_INFINITY : Date.parse(since)
  const latest = until === undefined ? Number.POSITIVE_INFINITY : lastMomentOf(until)
  return row =>
    (actor === undefined || row.actor === actor) &&
    (channel === undefined || row.channel === channel) &&
    (requestId === undefined || row.request === requestId) &&
    (type === undefined || row.type === type) &&
    (conversationId === undefined || row.conversationId === conversationId) &&
    row.at >= earliest &&
    row.at <= latest
}

async function entryOf(rows: Rows, project: string, envelope: EnvelopeRow): Promise<AuditEntry> {
  const { conversationId, version, at, actor, channel, request, type } = envelope
  const [row] = await rows.events({ project, conversationId }, { after: version - 1, upTo: version, limit: 1 })
  const event = row && eventOf(row)
  const sessionId = event && 'sessionId' in event && typeof event.sessionId === 'string' ? event.sessionId : undefined
  return {
    conversationId,
    version,
    at: isoTime(at),
    actor,
    channel,
    type,
    ...(request !== null && { requestId: request }),
    ...(sessionId !== undefined && { sessionId }),
  }
}
