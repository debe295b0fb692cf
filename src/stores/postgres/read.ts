/** Reads the events of a range of versions. */

import type { EventRange } from '../../log/event-log.ts'
import { idProblem } from '../../log/events/id.ts'
import type { RecordedEvent } from '../../log/events/recorded-event.ts'
import type { Database } from './database.ts'
import type { Projects } from './projects.ts'
import { blobsOf, type EventRow, eventColumns, highestVersion, recordedEvent } from './rows.ts'

export type ReadEvents = (range: EventRange) => Promise<RecordedEvent[]>

export function reader({
  database,
  projects,
  epoch,
}: {
  database: Database
  projects: Projects
  epoch: string
}): ReadEvents {
  const inOrder = (direction: 'asc' | 'desc', condition = '') => `
    select ${eventColumns} from events e
    where e.project = $1 and e.conversation = (select conversation from conversations where project = $1 and id = $2)
      and e.version between $3 and $4 ${condition} order by e.version ${direction} limit $5`
  const facts = 'and e.lane is null'
  const sql = {
    all: { forwards: inOrder('asc'), backwards: inOrder('desc') },
    facts: { forwards: inOrder('asc', facts), backwards: inOrder('desc', facts) },
  }

  return async ({
    project,
    conversationId,
    from = 1,
    to = highestVersion,
    backwards = false,
    limit = 1000,
    facts: onlyFacts = false,
  }) => {
    const number = await projects.find(project)
    if (number === undefined || idProblem(conversationId) || limit <= 0) return []
    const range = [Math.max(1, from), to, limit].map(version => Math.min(version, highestVersion))
    const statements = onlyFacts ? sql.facts : sql.all
    const statement = backwards ? statements.backwards : statements.forwards
    const rows = await (from === to ? database.look : database.read)<EventRow>(statement, [
      number,
      conversationId,
      ...range,
    ])
    const load = await blobsOf(
      database.read,
      number,
      rows.map(row => row[11]),
    )
    return rows.map(row => recordedEvent(row, { project, conversationId, epoch }, load))
  }
}
