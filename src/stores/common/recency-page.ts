/**
 * A page of conversations in the order of their last use.
 *
 * Their index has the time to the minute, so that a busy conversation does not move with every message. So the
 * conversations of one minute come to pages in the order they were created.
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
