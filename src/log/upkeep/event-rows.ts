/** Decodes a row into its event, and into the form that folds take. */
import type { StoredEvent } from '../events/event.ts'
import type { RecordedEvent } from '../events/recorded-event.ts'
import { decode } from '../records/record.ts'
import type { ConversationPlace, EventRow } from '../rows.ts'
import { isoTime } from '../time.ts'

/** Rows of a page. Between two pages the thread gets to its other work. */
export const pageRows = 500

/** Returns the event in a row, or a `damaged` event in its place. */
export function eventOf(row: EventRow): StoredEvent {
  const { type, schema, body, blobs } = row
  const messageId = row.message ?? undefined
  if (!row.isIntact) {
    return { type: 'damaged', storedType: type, messageId, reason: 'its stored bytes do not match their checksum' }
  }
  return decode({ type, schema, body, messageId }, digest => blobs.get(digest))
}

/** The event as folds take it: without position and hash. */
export function recordedOf(place: ConversationPlace, row: EventRow, event = eventOf(row)): RecordedEvent {
  const { version, at, actor, channel } = row
  return { ...place, version, position: '', at: isoTime(at), actor, channel, hash: '', event }
}
