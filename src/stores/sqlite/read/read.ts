/** Reads the events of a range of versions. */

import type { EventRange } from '../../../log/event-log.ts'
import type { RecordedEvent } from '../../../log/events/recorded-event.ts'
import type { Database } from '../database.ts'
import type { ConversationEntry, HeadStore } from '../heads.ts'
import { blobLoader, type EventRow, eventColumns, recordedEvent } from '../rows.ts'
import { inVersionOrder } from './places.ts'

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
  const factsInOrder = (direction: 'asc' | 'desc') => `
    select ${eventColumns} from events e
    where e.conversation = ? and e.version between ? and ? and e.lane is null order by e.version ${direction} limit ?`
  const sql = {
    facts: database.prepare(factsInOrder('asc')),
    factsBackwards: database.prepare(factsInOrder('desc')),
    forwards: database.prepare(inVersionOrder(eventColumns)),
    backwards: database.prepare(inVersionOrder(eventColumns, 'desc')),
  }
  const loadBlob = blobLoader(database)

  return ({
    project,
    conversationId,
    from = 1,
    to = Number.MAX_SAFE_INTEGER,
    backwards = false,
    limit = 1000,
    facts = false,
  }) => {
    const entry = heads.conversation(project, conversationId)
    if (!entry) return []
    const rows = facts
      ? ((backwards ? sql.factsBackwards : sql.facts).all(entry.row, from, to, limit) as EventRow[])
      : allRows(entry, { from, to, backwards, limit })
    const load = loadBlob(heads.projectRow(project)!)
    return rows.map(row => recordedEvent(row, { project, conversationId, epoch: epoch() }, load))
  }

  function allRows(
    { row, head }: ConversationEntry,
    { from, to, backwards, limit }: { from: number; to: number; backwards: boolean; limit: number },
  ): EventRow[] {
    const statement = backwards ? sql.backwards : sql.forwards
    const rows: EventRow[] = []
    // What comes before a branch point is the parent's.
    let low = Math.max((head.info.branchOf?.version ?? 0) + 1, from)
    let high = Math.min(to, head.version)
    // No version is missing, so as many versions hold as many events; in a file that lost some we look further.
    for (let size = limit; rows.length < limit && low <= high; size *= 2) {
      const first = backwards ? Math.max(low, high - size + 1) : low
      const last = backwards ? high : Math.min(high, low + size - 1)
      rows.push(...(statement.all(row, first, last) as EventRow[]))
      if (backwards) high = first - 1
      else low = last + 1
    }
    if (rows.length > limit) rows.length = limit
    return rows
  }
}
