/** Reads the events of a range of versions. */
import type { RecordedEvent } from '../../events/recorded.ts'
import type { EventRange } from '../../log/event-log.ts'
import type { Database } from './database.ts'
import type { HeadStore } from './heads.ts'
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
  const inOrder = (direction: 'asc' | 'desc', which = '') => `
    select ${eventColumns} from events e
    where e.conversation = ? and e.version between ? and ? ${which} order by e.version ${direction} limit ?`
  const noMessages = 'and e.lane is null'
  const sql = {
    forwards: database.prepare(inOrder('asc')),
    backwards: database.prepare(inOrder('desc')),
    factsForwards: database.prepare(inOrder('asc', noMessages)),
    factsBackwards: database.prepare(inOrder('desc', noMessages)),
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
    const [forwards, behind] = facts ? [sql.factsForwards, sql.factsBackwards] : [sql.forwards, sql.backwards]
    const statement = backwards ? behind : forwards
    const rows = statement.all(entry.row, from, to, limit) as EventRow[]
    const load = loadBlob(heads.projectRow(project)!)
    return rows.map(row => recordedEvent(row, { project, conversationId, epoch: epoch() }, load))
  }
}
