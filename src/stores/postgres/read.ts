/** Reads the events of a range of versions. */
import { idProblem } from '../../events/id.ts'
import type { RecordedEvent } from '../../events/recorded.ts'
import type { EventRange } from '../../log/event-log.ts'
import type { Database } from './database.ts'
import type { Projects } from './projects.ts'
import { blobsOf, type EventRow, eventColumns, recordedEvent } from './rows.ts'

export type ReadEvents = (range: EventRange) => Promise<RecordedEvent[]>

/** Versions are 32 bits wide. */
const highestVersion = 0x7fff_ffff

export function reader({
  database,
  projects,
  epoch,
}: {
  database: Database
  projects: Projects
  epoch: string
}): ReadEvents {
  const inOrder = (direction: 'asc' | 'desc') => `
    select ${eventColumns} from events e
    where e.project = $1 and e.conversation = (select conversation from conversations where project = $1 and id = $2)
      and e.version between $3 and $4 order by e.version ${direction} limit $5`
  const sql = { forwards: inOrder('asc'), backwards: inOrder('desc') }

  return async ({ project, conversationId, from = 1, to = highestVersion, backwards = false, limit = 1000 }) => {
    const number = await projects.find(project)
    if (number === undefined || idProblem(conversationId) || limit <= 0) return []
    const range = [Math.max(1, from), Math.min(to, highestVersion), Math.min(limit, highestVersion)]
    const rows = await database.read<EventRow>(backwards ? sql.backwards : sql.forwards, [
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
