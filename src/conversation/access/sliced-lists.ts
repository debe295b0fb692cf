/**
 * Long lists, read in slices. Between slices the event loop runs, so that appends and streams do not wait for the end. A
 * conversation that is purged meanwhile has no more slices, so the end of a list checks that it still exists.
 */
import { setImmediate as breathe } from 'node:timers/promises'
import type { EventRange } from '../../log/event-log.ts'
import type { RecordedEvent } from '../../log/events/recorded-event.ts'
import type { StoreCalls } from '../../log/store.ts'
import type { Message } from '../../log/views/message.ts'
import type { Window } from '../../log/windows.ts'
import { conversationHead } from './conversation-head.ts'

/** A page of messages. Without `limit`, all of them. */
export interface MessagePage {
  limit?: number
  /** Only messages before this version. */
  before?: number
  /** Only messages after this version; then the oldest of them first. */
  after?: number
}

const sliceSize = 1000

/**
 * The messages of a page, oldest first.
 *
 * @throws {ConversationPurged} when it was purged meanwhile
 */
export async function messagesIn(store: StoreCalls, window: Window, page: MessagePage): Promise<Message[]> {
  const { limit } = page
  const isOneSlice = limit !== undefined && limit <= sliceSize
  const found = isOneSlice
    ? await store.messages(window, { ...page, limit })
    : await (page.after !== undefined ? forwards : backwards)(store, window, page)
  await checkExists(store, window, found.length)
  return found
}

/** One slice is read whole, except in a branch, where it is read from the parent and from the branch. */
async function checkExists(
  store: StoreCalls,
  { project, conversationId, branchOf }: Pick<EventRange, 'project' | 'conversationId' | 'branchOf'>,
  found: number,
): Promise<void> {
  if (found === 0 || found >= sliceSize || branchOf) await conversationHead(store, project, conversationId)
}

/**
 * The events of a range. Without `limit`, all of them.
 *
 * @throws {ConversationPurged} when it was purged meanwhile
 */
export async function eventsIn(store: StoreCalls, range: EventRange): Promise<RecordedEvent[]> {
  const { limit = Number.POSITIVE_INFINITY, backwards: isBackwards = false } = range
  const found: RecordedEvent[] = []
  let rest = range
  for (;;) {
    const size = Math.min(limit - found.length, sliceSize)
    const slice = await store.read({ ...rest, limit: size })
    found.push(...slice)
    const last = slice.at(-1)
    if (!last || slice.length < size || found.length >= limit) {
      await checkExists(store, range, found.length)
      return found
    }
    rest = isBackwards ? { ...rest, to: last.version - 1 } : { ...rest, from: last.version + 1 }
    await breathe()
  }
}

async function backwards(
  store: StoreCalls,
  window: Window,
  { limit = Number.POSITIVE_INFINITY, before }: MessagePage,
): Promise<Message[]> {
  const slices: Message[][] = []
  let left = limit
  let end = before
  while (left > 0) {
    const size = Math.min(left, sliceSize)
    const slice = await store.messages(window, { limit: size, ...(end !== undefined && { before: end }) })
    slices.unshift(slice)
    left -= slice.length
    end = slice[0]?.version
    if (slice.length < size) break
    await breathe()
  }
  return slices.flat()
}

async function forwards(
  store: StoreCalls,
  window: Window,
  { limit = Number.POSITIVE_INFINITY, before, after = 0 }: MessagePage,
): Promise<Message[]> {
  const found: Message[] = []
  let start = after
  while (found.length < limit) {
    const size = Math.min(limit - found.length, sliceSize)
    const slice = await store.messages(window, {
      limit: size,
      after: start,
      ...(before !== undefined && { before }),
    })
    found.push(...slice)
    start = slice.at(-1)?.version ?? start
    if (slice.length < size) break
    await breathe()
  }
  return found
}
