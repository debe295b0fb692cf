/** How much of the log readers hold in memory: by number, and by characters, for messages may be large. */

/** Of what one reader reads ahead, and of the newest that all at the end share. At least one event, however large. */
export const feedLimits = {
  page: { events: 256, characters: 256 * 1024 },
  tail: { events: 1024, characters: 8 * 1024 * 1024 },
} as const

/** Characters of an event, near enough: what stands beside its body is read along with it. */
export function eventCharacters(body: string | null): number {
  if (body === null) return 0
  return body.includes('"blobs":[[') ? body.length + feedLimits.page.characters : body.length
}

/** Whether there may be more behind a page than it has. */
export function isFullPage(page: ReadonlyArray<{ size: number }>): boolean {
  let characters = 0
  for (const { size } of page) characters += size
  return page.length >= feedLimits.page.events || characters >= feedLimits.page.characters
}

/** How many of the oldest leave so that the rest is within the tail's limits. The newest always stays. */
export function tooManyInTail(tail: ReadonlyArray<{ size: number }>): number {
  let characters = 0
  let first = tail.length
  while (first > 0 && tail.length - first < feedLimits.tail.events) {
    characters += tail[first - 1]!.size
    if (characters > feedLimits.tail.characters && first < tail.length) break
    first--
  }
  return first
}

/** What a reader takes of the tail at once, from an index on: as much as a page has. */
export function pageOfTail<E extends { size: number }>(tail: readonly E[], from: number): E[] {
  let characters = 0
  let end = from
  while (end < tail.length && end - from < feedLimits.page.events && characters < feedLimits.page.characters) {
    characters += tail[end++]!.size
  }
  return tail.slice(from, end)
}
