/** Messages of a window: the newest that a budget can hold, or those at given versions. */
import type { StoreCalls } from '../../log/store.ts'
import type { Message } from '../../log/views/message.ts'
import type { Window } from '../../log/windows.ts'
import type { Stretch } from '../../request/assembly/inputs.ts'
import { messageSize, overhead } from '../../request/text/sizes.ts'

const minPage = 16
const maxPage = 5_000

/** Measures a window and reads as many of its newest messages as the budget can hold, or `maxMessages`. */
export async function newestStretch(
  store: StoreCalls,
  window: Window,
  { budget, maxMessages }: { budget: number; maxMessages?: number | undefined },
): Promise<Stretch> {
  const { start, end = Number.MAX_SAFE_INTEGER } = window
  const sums = await store.measure(window)
  const stretch = (messages: Message[]): Stretch => ({ start, end, sums, messages })
  if (sums.messages === 0) return stretch([])
  let average = sums.tokens / sums.messages + overhead.message
  let messages: Message[] = []
  let size = 0
  for (;;) {
    const limit = maxMessages ?? Math.min(maxPage, Math.max(minPage, Math.ceil(((budget - size) / average) * 1.05)))
    const before = messages[0]?.version
    const page = await store.messages(window, { limit, ...(before !== undefined && { before }) })
    messages = messages.length === 0 ? page : [...page, ...messages]
    for (const message of page) size += messageSize(message)
    if (page.length < limit || size >= budget || maxMessages !== undefined) return stretch(messages)
    average = size / messages.length
  }
}

export function messagesAt(store: StoreCalls, window: Window, versions: readonly number[]): Promise<Message[]> {
  if (versions.length === 0) return Promise.resolve([])
  const ordered = [...new Set(versions)].sort((a, b) => a - b)
  return store.messages({ ...window, start: Number.MAX_SAFE_INTEGER, kept: ordered }, { limit: ordered.length })
}
