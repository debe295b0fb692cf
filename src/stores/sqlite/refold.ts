/**
 * Heads from the log itself, for when a stored one is damaged: one bad record must not hide a conversation.
 *
 * Reads only the facts of the conversation that are not messages, so it is quick enough to do on the way.
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
      rows.map(one => recordedEvent(one, { ...place, epoch: '' }, () => undefined)),
      place,
    )
  }
}
