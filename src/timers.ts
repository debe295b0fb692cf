/** Limits the time of timers: Node runs a timer of more than 2^31 − 1 milliseconds at once. */

const longestMs = 2 ** 31 - 1

/** Returns the time, 24 days at most. Work that is due later is checked early, which does no harm. */
export function timerMs(milliseconds: number): number {
  return Math.min(milliseconds, longestMs)
}
