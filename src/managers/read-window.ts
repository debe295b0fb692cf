/** Messages of a window for a request: the newest that a budget can hold, and some by their versions. */
import type { LaneSums } from '../log/lane.ts'
import type { Store } from '../log/store.ts'
import type { Window } from '../log/windows.ts'
import { messageSize, overhead } from '../request/budget.ts'
import type { Message } from '../views/message.ts'

/** As many of the newest messages as the budget can hold, mostly in one read. */
export async function newest(
  store: Store,
  window: Window,
  { sums, most, budget }: { sums: LaneSums; most?: number | undefined; budget: number },
): Promise<Message[]> {
  const average = sums.tokens / Math.max(1, sums.messages) + overhead.message
  const limit = most ?? Math.min(5000, Math.max(16, Math.ceil((budget / average) * 1.05)))
  let found: Message[] = []
  let size = 0
  for (;;) {
    const before = found[0]?.version
    const page = await store.messages(window, { limit, shared: true, ...(before !== undefined && { before }) })
    found = found.length === 0 ? page : [...page, ...found]
    for (const message of page) size += messageSize(message)
    if (page.length < limit || size >= budget || most !== undefined) return found
  }
}

export function messagesAt(store: Store, window: Window, versions: readonly number[]): Promise<Message[]> {
  if (versions.length === 0) return Promise.resolve([])
  const ordered = [...new Set(versions)].sort((a, b) => a - b)
  return store.messages({ ...window, start: Number.MAX_SAFE_INTEGER, kept: ordered }, { limit: ordered.length })
}
