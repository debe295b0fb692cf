/** Numbers from repeated timings: percentiles, medians of rounds, and rounds cut short when the machine is slow. */

/** Times of one contestant in one round, per operation, in milliseconds. */
export type Samples = readonly number[]

export function percentile(values: readonly number[], share: number): number {
  if (values.length === 0) return Number.NaN
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!
}

export const median = (values: readonly number[]) => percentile(values, 0.5)

export interface TimedOptions {
  times: number
  /** No further repetition starts after this long, so that a slow machine gives fewer samples and not a longer run. */
  atMostMs: number
}

/** Times each call on its own. A synchronous one is not awaited: a baseline must not pay for a promise. */
export async function timed(
  { times, atMostMs }: TimedOptions,
  call: (index: number) => Promise<unknown> | unknown,
): Promise<Samples> {
  const samples: number[] = []
  const end = performance.now() + atMostMs
  for (let index = 0; index < times; index++) {
    const start = performance.now()
    const pending = call(index)
    if (pending instanceof Promise) await pending
    const now = performance.now()
    samples.push(now - start)
    if (now > end && samples.length >= 3) break
  }
  return samples
}

/** Measures one piece of work, in seconds. */
export async function secondsOf(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work()
  return (performance.now() - start) / 1000
}

/** One figure of ours and of its baseline per round, taken right after one another. */
export class Rounds {
  readonly ours: number[] = []
  readonly baseline: number[] = []

  add(round: { ours: number; baseline: number }): void {
    this.ours.push(round.ours)
    this.baseline.push(round.baseline)
  }

  /** The median of each round's own ratio: a slow moment of the machine falls on both sides of it. */
  get ratio(): number {
    return median(this.ours.map((value, round) => value / this.baseline[round]!))
  }

  /** The rounds' ratios from lowest to highest, to show how much noise there was. */
  get spread(): [number, number] {
    const ratios = this.ours.map((value, round) => value / this.baseline[round]!)
    return [Math.min(...ratios), Math.max(...ratios)]
  }
}
