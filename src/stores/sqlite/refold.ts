/**
 * Folds heads from the log when a stored one is damaged: one bad record must not hide a conversation. Reads only the
 * facts that are not messages, which are few.
 */
import { type FoldedHeads, foldHeads } from '../../log/fold.ts'
import type { Database } from './database.ts'
import { type EventRow, eventColumns, recordedEvent } from './rows.ts'

export type Refold = (row: number, place: { project: string; conversationId: string }) => FoldedHeads

export function refolder(database: Database): Refold {
  const facts = database.prepare(`
    select ${eventColumns} from events e where e.conversation = ? and e.lane is null order by e.version`)

  return (row, place) => {
    const rows = facts.all(row) as EventRow[]
    return foldHeads(
      rows.map(event => recordedEvent(event, { ...place, epoch: '' }, () => undefined)),
      place,
    )
  }
}
