/** Ranking of search results on every store: by BM25, then by the neighbours of a message. */

/**
 * Neighbours are read for one block of candidates at a time, best candidates first. Each block is ranked for itself, so
 * earlier pages stay as they are however far a reader pages.
 */
export const blockSize = 300

/** Rounds a count up to whole blocks. */
export function wholeBlocks(count: number): number {
  return Math.ceil(Math.max(1, count) / blockSize) * blockSize
}

export function inBlocks<T>(items: readonly T[]): T[][] {
  return Array.from({ length: Math.ceil(items.length / blockSize) }, (_, index) =>
    items.slice(index * blockSize, (index + 1) * blockSize),
  )
}

/** The parameters of BM25, as SQLite has them. */
const bm25 = { k1: 1.2, b: 0.75 }

/** The weight of a word that `matches` of `messages` have: rare words weigh more. */
export function rarity(matches: number, messages: number): number {
  return Math.log(1 + (Math.max(0, messages - matches) + 0.5) / (matches + 0.5))
}

/** The share of that weight for a message in which the word appears `times`; long messages get less. */
export function prominence(times: number, length: number, average: number): number {
  return (times * (bm25.k1 + 1)) / (times + bm25.k1 * (1 - bm25.b + (bm25.b * length) / average))
}
