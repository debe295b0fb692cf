/** Limits on titles, reasons and metadata. They are part of heads, which are rewritten with every change. */
import { ContentTooLarge } from '../../errors.ts'
import { ConversationEvent } from '../events/event.ts'
import type { Metadata } from '../events/metadata.ts'
import type { Heads } from '../views/heads.ts'
import { mergeMetadata } from '../views/metadata.ts'
import { parseInput } from './input.ts'

const maxBytes = { title: 4 * 1024, reason: 256 * 1024, metadata: 256 * 1024 }

const limitedEvents = /^(session|conversation)\./

/**
 * @throws {InvalidInput} naming the field that does not fit the event's schema
 * @throws {ContentTooLarge} naming the field that is too long for a head
 */
export function checkTextLimits(events: readonly ConversationEvent[], heads: Heads): void {
  for (const event of events) {
    if (event.type === 'message.added' || !limitedEvents.test(event.type)) continue
    parseInput(ConversationEvent, event)
    refuseLarge('title' in event && event.title, 'title')
    refuseLarge('reason' in event && event.reason, 'reason')
    if (event.type === 'conversation.annotated') refuseMerged(heads.conversation?.info.metadata, event.metadata)
    else if (event.type === 'session.annotated') refuseMerged(heads.session?.head.metadata, event.metadata)
    else if ('metadata' in event) refuseMerged({}, event.metadata)
  }
}

/** For reasons that are not recorded through the engine. @throws {ContentTooLarge} */
export function refuseLongReason(reason: string | undefined): void {
  refuseLarge(reason, 'reason')
}

/** Checks the merged result, because many small additions make a large head. Removing keys is never refused. */
function refuseMerged(old: Metadata = {}, changes: Metadata | undefined): void {
  if (!changes || Object.values(changes).every(value => value === null)) return
  refuseLarge(JSON.stringify(mergeMetadata(old, changes)), 'metadata')
}

function refuseLarge(text: unknown, field: keyof typeof maxBytes): void {
  if (typeof text !== 'string') return
  const limit = maxBytes[field]
  const bytes = Buffer.byteLength(text)
  if (bytes > limit) throw new ContentTooLarge({ bytes, limit, field })
}
