/** Limits for the events that readers hold in memory: by number and by characters, because messages may be large. */

/** Limits of the page that one reader reads ahead, and of the tail that readers at the end share. One event is always allowed. */
export const feedLimits = {
  page: { events: 256, characters: 256 * 1024 },
  tail: { events: 1024, characters: 8 * 1024 * 1024 },
} as const

/** Estimates the characters of an event. Its blobs are read with it. */
export function eventCharacters(body: string | null): number {
  if (body === null) return 0
  return body.includes('"blobs":[[') ? body.length + feedLimits.page.characters : body.length
}

/** True when there may be more events after the page. */
export function isFullPage(page: ReadonlyArray<{ size: number }>): boolean {
  let characters = 0
  for (const { size } of page) characters += size
  return page.length >= feedLimits.page.events || characters >= feedLimits.page.characters
}

/** Counts the oldest events to drop so that the tail is within its limits. The newest always stays. */
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

/** Returns a page of the tail from an index on. */
export function pageOfTail<E extends { size: number }>(tail: readonly E[], from: number): E[] {
  let characters = 0
  let end = from
  while (end < tail.length && end - from < feedLimits.page.events && characters < feedLimits.page.characters) {
    characters += tail[end++]!.size
  }
  return tail.slice(from, end)
}
