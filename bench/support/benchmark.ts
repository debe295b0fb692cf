/** The form of a benchmark and of its findings. */
import type { Sizes } from './sizes.ts'

export interface Benchmark {
  name: string
  title: string
  /** The comparison, for the reader of the table. */
  about: string
  run(sizes: Sizes, tell: Tell): Promise<Finding[]>
}

/** Says what is under way. */
export type Tell = (text: string) => void

export interface Finding {
  what: string
  /** Ours, with its unit. */
  ours: string
  /** The baseline, with its unit. */
  baseline?: string
  /** Ours to the baseline. */
  ratio?: number
  /** Lowest and highest ratio of a round. */
  spread?: readonly [number, number]
  target?: { atMost: number } | { atLeast: number } | { exactly: number }
  /** The value to compare with `target`. Default: the ratio. */
  measured?: number
  /** The same with one JSON document that is rewritten for each message, with its unit. */
  document?: string
}

/** True if a finding meets its target; undefined when it has none. */
export function isMet({ target, measured, ratio }: Finding): boolean | undefined {
  const value = measured ?? ratio
  if (!target || value === undefined) return undefined
  if ('atMost' in target) return value <= target.atMost
  if ('atLeast' in target) return value >= target.atLeast
  return value === target.exactly
}
