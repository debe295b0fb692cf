/** Reads the events of a range of versions. */
import type { RecordedEvent } from '../../events/recorded.ts'
import type { EventRange } from '../../log/event-log.ts'
import type { Database } from './database.ts'
import type { HeadStore } from './heads.ts'
import { inVersionOrder } from './places.ts'
import { blobLoader, type EventRow, eventColumns, recordedEvent } from './rows.ts'

export type ReadEvents = (range: EventRange) => RecordedEvent[]

export function reader({
  database,
  heads,
  epoch,
}: {
  database: Database
  heads: HeadStore
  epoch: () => string
}): ReadEvents {
  const sql = {
    forwards: database.prepare(inVersionOrder(eventColumns)),
    backwards: database.prepare(inVersionOrder(eventColumns, 'desc')),
  }
  const loadBlob = blobLoader(database)

  return ({ project, conversationId, from = 1, to = Number.MAX_SAFE_INTEGER, backwards = false, limit = 1000 }) => {
    const entry = heads.conversation(project, conversationId)
    if (!entry) return []
    const statement = backwards ? sql.backwards : sql.forwards
    const rows: EventRow[] = []
    let low = Math.max(1, from)
    let high = Math.min(to, entry.head.version)
    // No version is missing, so as many versions hold as many events; in a file that lost some we look further.
    for (let size = limit; rows.length < limit && low <= high; size *= 2) {
      const first = backwards ? Math.max(low, high - size + 1) : low
      const last = backwards ? high : Math.min(high, low + size - 1)
      rows.push(...(statement.all(entry.row, first, last) as EventRow[]))
      if (backwards) high = first - 1
      else low = last + 1
    }
    if (rows.length > limit) rows.length = limit
    const load = loadBlob(heads.projectRow(project)!)
    return rows.map(row => recordedEvent(row, { project, conversationId, epoch: epoch() }, load))
  }
}
