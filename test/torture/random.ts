/** Random numbers that come back: the same seed gives the same run. */

export interface Random {
  /** A whole number from 0 to below `limit`. */
  below(limit: number): number
  /** A whole number from `low` to `high`, both included. */
  between(low: number, high: number): number
  pick<T>(list: readonly T[]): T
  /** `count` different ones of the list, in random order. */
  some<T>(list: readonly T[], count: number): T[]
  bytes(count: number): Buffer
}

/** mulberry32: small, fast, and good enough to place damage and kills. */
export function random(seed: number): Random {
  let state = seed >>> 0
  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000
  }
  const below = (limit: number) => Math.floor(next() * limit)
  return {
    below,
    between: (low, high) => low + below(high - low + 1),
    pick: list => list[below(list.length)]!,
    some(list, count) {
      const remaining = [...list]
      return Array.from(
        { length: Math.min(count, list.length) },
        () => remaining.splice(below(remaining.length), 1)[0]!,
      )
    },
    bytes: count => Buffer.from(Array.from({ length: count }, () => below(256))),
  }
}

/** A fresh seed for a run that named none; it is printed, so that the run can be had again. */
export function freshSeed(): number {
  return Math.floor(Math.random() * 0x1_0000_0000)
}
