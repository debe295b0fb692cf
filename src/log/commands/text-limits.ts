/** What sessions and conversations are told in words of a caller's own: a log keeps for ever what it was given once. */
import { ContentTooLarge } from '../../errors.ts'
import { ConversationEvent } from '../events/event.ts'
import type { Metadata } from '../events/metadata.ts'
import type { Heads } from '../views/heads.ts'
import { mergeMetadata } from '../views/metadata.ts'
import { parseInput } from './input.ts'

/** They stand in heads, which are read and written whole with every change and listed fifty at a time. */
const mostBytes = { title: 4 * 1024, reason: 256 * 1024, metadata: 256 * 1024 }

const inOwnWords = /^(session|conversation)\./

/**
 * @throws {InvalidInput} naming the field that is not what such a fact has there
 * @throws {ContentTooLarge} naming the field that is too long for a head
 */
export function checkOwnWords(events: readonly ConversationEvent[], heads: Heads): void {
  for (const event of events) {
    if (event.type === 'message.added' || !inOwnWords.test(event.type)) continue
    parseInput(ConversationEvent, event)
    refuseLarge('title' in event && event.title, 'title')
    refuseLarge('reason' in event && event.reason, 'reason')
    if (event.type === 'conversation.annotated') refuseMerged(heads.conversation?.info.metadata, event.metadata)
    else if (event.type === 'session.annotated') refuseMerged(heads.session?.head.metadata, event.metadata)
    else if ('metadata' in event) refuseMerged({}, event.metadata)
  }
}

/** For what is recorded by other ways. @throws {ContentTooLarge} when a reason is longer than any that is kept */
export function refuseLongReason(reason: string | undefined): void {
  refuseLarge(reason, 'reason')
}

/** Many small additions make a large head, too. What takes away is never refused. */
function refuseMerged(old: Metadata = {}, changes: Metadata | undefined): void {
  if (!changes || Object.values(changes).every(value => value === null)) return
  refuseLarge(JSON.stringify(mergeMetadata(old, changes)), 'metadata')
}

function refuseLarge(text: unknown, field: keyof typeof mostBytes): void {
  if (typeof text !== 'string') return
  const limit = mostBytes[field]
  const bytes = Buffer.byteLength(text)
  if (bytes > limit) throw new ContentTooLarge({ bytes, limit, field })
}
