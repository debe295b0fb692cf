/** Messages of a window for a request: the newest that a budget can hold, and some by their versions. */
import type { LaneSums } from '../../log/records/lane.ts'
import type { Store } from '../../log/store.ts'
import type { Message } from '../../log/views/message.ts'
import type { Window } from '../../log/windows.ts'
import { overhead, sizeOf } from '../../request/assembly/budget.ts'

/** As many of the newest messages as the budget can hold, mostly in one read. */
export async function newest(
  store: Store,
  window: Window,
  { sums, most, budget }: { sums: LaneSums; most?: number | undefined; budget: number },
): Promise<Message[]> {
  let average = sums.tokens / Math.max(1, sums.messages) + overhead.message
  let found: Message[] = []
  let size = 0
  for (;;) {
    const limit = most ?? Math.min(5000, Math.max(16, Math.ceil(((budget - size) / average) * 1.05)))
    const before = found[0]?.version
    const page = await store.messages(window, { limit, shared: true, ...(before !== undefined && { before }) })
    found = found.length === 0 ? page : [...page, ...found]
    size += sizeOf(page)
    if (page.length < limit || size >= budget || most !== undefined) return found
    average = size / found.length
  }
}

export function messagesAt(store: Store, window: Window, versions: readonly number[]): Promise<Message[]> {
  if (versions.length === 0) return Promise.resolve([])
  const ordered = [...new Set(versions)].sort((a, b) => a - b)
  return store.messages({ ...window, start: Number.MAX_SAFE_INTEGER, kept: ordered }, { limit: ordered.length })
}
