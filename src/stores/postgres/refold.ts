/** Heads from the log itself, for when a stored one is damaged: one bad record must not hide a conversation. */
import { type FoldedHeads, foldHeads } from '../../log/fold.ts'
import type { Run } from './database.ts'
import { type EventRow, eventColumns, recordedEvent } from './rows.ts'

/** Folds the facts of a conversation that are not messages: few enough to read them on the way. */
export async function refold(
  run: Run,
  project: number,
  conversation: number,
  place: { project: string; conversationId: string },
): Promise<FoldedHeads> {
  const rows = await run<EventRow>(
    `select ${eventColumns} from events e
    where e.project = $1 and e.conversation = $2 and e.lane is null order by e.version`,
    [project, conversation],
  )
  return foldHeads(
    rows.map(row => recordedEvent(row, { ...place, epoch: '' }, () => undefined)),
    place,
  )
}
