/**
 * Branches read as one log: what the parent says up to the branch point, then what the branch says. Nothing is copied,
 * so a branch costs the same whatever its parent's length.
 *
 * Stores know conversations only. A reader of a branch hands in `branchOf` from its head, and this puts the pieces
 * together. A conversation that is no branch goes straight to its store.
 */

import type { EventRange } from './event-log.ts'
import type { BranchPoint } from './events/conversation.ts'
import type { RecordedEvent } from './events/recorded-event.ts'
import { addSums } from './records/lane.ts'
import type { SearchHit, SearchQuery } from './search.ts'
import type { StoreCalls } from './store.ts'
import type { Message } from './views/message.ts'
import type { Page, Window } from './windows.ts'

export function withLineage(store: StoreCalls): StoreCalls {
  /** The piece before a branch: of the parent, up to the branch point; itself a branch, perhaps. */
  async function parentOf<T extends { project: string }>(piece: T, { conversationId, version }: BranchPoint) {
    const head = await store.conversation(piece.project, conversationId)
    const { branchOf } = head?.info ?? {}
    return { conversationId, upTo: version, ...(branchOf && { branchOf }) }
  }

  async function read(range: EventRange): Promise<RecordedEvent[]> {
    const { branchOf, ...own } = range
    if (!branchOf) return store.read(own)
    const { limit = 1000, backwards = false, from = 1, to = Number.MAX_SAFE_INTEGER } = own
    const { upTo, ...parent } = await parentOf(own, branchOf)
    const before: EventRange = { ...own, ...parent, to: Math.min(to, upTo) }
    if (backwards) {
      const found = to > upTo ? await store.read({ ...own, from: Math.max(from, upTo + 1) }) : []
      const left = limit - found.length
      return left > 0 && from <= upTo ? [...found, ...(await read({ ...before, limit: left }))] : found
    }
    const found = from <= upTo ? await read(before) : []
    const left = limit - found.length
    return left > 0 && to > upTo
      ? [...found, ...(await store.read({ ...own, from: Math.max(from, upTo + 1), limit: left }))]
      : found
  }

  async function messages(window: Window, page: Page): Promise<Message[]> {
    const { branchOf, ...own } = window
    if (!branchOf) return store.messages(own, page)
    const parent = await parentWindow(own, branchOf)
    if (page.after !== undefined) {
      const found = await messages(parent, page)
      const left = page.limit - found.length
      return left > 0 ? [...found, ...(await store.messages(own, { ...page, limit: left }))] : found
    }
    const found = await store.messages(own, page)
    const left = page.limit - found.length
    return left > 0 ? [...(await messages(parent, { ...page, limit: left })), ...found] : found
  }

  async function measure(window: Window): ReturnType<StoreCalls['measure']> {
    const { branchOf, ...own } = window
    if (!branchOf) return store.measure(own)
    const [before, after] = await Promise.all([measure(await parentWindow(own, branchOf)), store.measure(own)])
    // Messages before the branch are no use of a session in it.
    return { ...addSums(before, after), lastActiveAt: after.lastActiveAt }
  }

  async function parentWindow(window: Window, branchOf: BranchPoint): Promise<Window> {
    const { upTo, ...parent } = await parentOf(window, branchOf)
    return { ...window, ...parent, end: Math.min(window.end ?? upTo, upTo) }
  }

  async function search(query: SearchQuery): Promise<SearchHit[]> {
    const { branchOf, ...own } = query
    if (!branchOf || own.conversationId === undefined) return store.search(own)
    const { limit = 20, offset = 0, before = Number.MAX_SAFE_INTEGER } = own
    const { upTo, ...parent } = await parentOf(own, branchOf)
    const most = { limit: limit + offset, offset: 0 }
    const found = await Promise.all([
      store.search({ ...own, ...most }),
      search({ ...own, ...parent, ...most, before: Math.min(before, upTo + 1) }),
    ])
    return found
      .flat()
      .sort((a, b) => b.score - a.score)
      .slice(offset, offset + limit)
  }

  return { ...store, read, messages, measure, search }
}

/** Returns true when a message is in a conversation, or in one of its parents before the branch point. */
export async function isInLine(
  store: StoreCalls,
  line: { project: string; conversationId: string; branchOf?: BranchPoint },
  message: Pick<Message, 'conversationId' | 'version'>,
): Promise<boolean> {
  let { conversationId, branchOf } = line
  let end = Number.MAX_SAFE_INTEGER
  while (message.conversationId !== conversationId) {
    if (!branchOf) return false
    conversationId = branchOf.conversationId
    end = Math.min(end, branchOf.version)
    branchOf = (await store.conversation(line.project, conversationId))?.info.branchOf
  }
  return message.version <= end
}
