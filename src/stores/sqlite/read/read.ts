/** Reads the events of a range of versions. */
import type { EventRange } from '../../../log/event-log.ts'
import type { RecordedEvent } from '../../../log/events/recorded-event.ts'
import type { Database } from '../database.ts'
import type { HeadStore } from '../heads.ts'
import { blobLoader, type EventRow, eventColumns, recordedEvent } from '../rows.ts'
import { inVersionOrder } from './event-queries.ts'

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
    where e.conversation = ?1 and e.lane is null and e.version between ?2 and ?3 order by e.version ${direction} limit ?4`
  const sql = {
    facts: database.prepare(factsInOrder('asc')),
    factsBackwards: database.prepare(factsInOrder('desc')),
    all: database.prepare(`${inVersionOrder(eventColumns)} limit ?4`),
    allBackwards: database.prepare(`${inVersionOrder(eventColumns, 'desc')} limit ?4`),
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
    const conversation = heads.conversationRow(project, conversationId)
    if (conversation === undefined) return []
    const statement = facts ? sql[backwards ? 'factsBackwards' : 'facts'] : sql[backwards ? 'allBackwards' : 'all']
    const rows = statement.all(conversation, from, to, limit) as EventRow[]
    const load = loadBlob(heads.projectRow(project)!)
    return rows.map(row => recordedEvent(row, { project, conversationId, epoch: epoch() }, load))
  }
}
