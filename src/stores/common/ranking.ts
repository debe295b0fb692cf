/** How what a search found is ranked, on every store: by BM25, then by what stands around it. */

/**
 * What stands around is looked at for a block of them at a time, the most promising first. However far somebody pages, what
 * was on the pages before stays there: the next block is ranked for itself and comes behind.
 */
export const blockSize = 300

/** So many as fill the blocks that the first `count` stand in. */
export function wholeBlocks(count: number): number {
  return Math.ceil(Math.max(1, count) / blockSize) * blockSize
}

export function inBlocks<T>(found: readonly T[]): T[][] {
  return Array.from({ length: Math.ceil(found.length / blockSize) }, (_, index) =>
    found.slice(index * blockSize, (index + 1) * blockSize),
  )
}

/** Of BM25, as SQLite has them. */
const bm25 = { k1: 1.2, b: 0.75 }

/** How much a word tells that so many of some messages have. */
export function rarity(having: number, messages: number): number {
  return Math.log(1 + (Math.max(0, messages - having) + 0.5) / (having + 0.5))
}

/** What part of that a message has in which the word stands so often; the longer it is, the less. */
export function prominence(times: number, length: number, average: number): number {
  return (times * (bm25.k1 + 1)) / (times + bm25.k1 * (1 - bm25.b + (bm25.b * length) / average))
}
