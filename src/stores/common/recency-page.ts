/**
 * A page of conversations in the order of their last use.
 *
 * What they are found by says it to the minute, so that a busy conversation does not move with every message: which of
 * one minute are on a page, where there are more than it holds, is the order they were made in.
 */
type Used = readonly [
  conversation: number,
  minute: number | string,
  info: string,
  version: number,
  activeAt: number,
  ...unknown[],
]

export function byUse<Row extends Used>(rows: readonly Row[]): Row[] {
  return [...rows].sort((a, b) => Number(b[1]) - Number(a[1]) || b[4] - a[4])
}
