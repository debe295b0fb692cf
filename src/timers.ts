/** Times as timers take them: Node runs one that is set for longer than 2^31 − 1 milliseconds at once, again and again. */

const longestMs = 2 ** 31 - 1

/** The time, or 24 days if it is longer than that: nothing that waits so long minds being looked after sooner. */
export function timerMs(milliseconds: number): number {
  return Math.min(milliseconds, longestMs)
}
