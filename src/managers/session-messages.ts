/** Pages of a session's messages. Long lists are read in slices, so that appends and streams go on in between. */
import type { Engine } from '../engine.ts'
import type { LaneKind } from '../log/lane.ts'
import { type Window, windowOf } from '../log/windows.ts'
import type { Message } from '../views/message.ts'
import type { SessionHead } from '../views/session.ts'

/** A page of messages. Without `limit`, all of them. */
export interface MessagePage {
  limit?: number
  /** Only messages before this version. */
  before?: number
  /** Only messages after this version; then the oldest of them first. */
  after?: number
}

const sliceSize = 1000

export function pageOf(
  { store }: Engine,
  head: SessionHead,
  kinds: readonly LaneKind[],
  page: MessagePage,
): Promise<Message[]> {
  const { limit } = page
  const window = windowOf(head, kinds)
  if (limit !== undefined && limit <= sliceSize) return store.messages(window, { ...page, limit })
  return page.after !== undefined ? forwards(store, window, page) : backwards(store, window, page)
}

export async function firstSystemMessage({ store }: Engine, head: SessionHead): Promise<number | undefined> {
  const window = windowOf(head, ['system'])
  if (window.kept.length > 0) return window.kept[0]
  const [first] = await store.messages(window, { limit: 1, after: 0 })
  return first?.version
}

async function backwards(
  store: Engine['store'],
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
  }
  return slices.flat()
}

async function forwards(
  store: Engine['store'],
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
  }
  return found
}
