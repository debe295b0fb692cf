/**
 * What a search found is ranked by what stands around it a block at a time, the most promising first. However far somebody
 * pages, what was on the pages before stays there: the next block is ranked for itself and comes behind.
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
