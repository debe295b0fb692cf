/** Times on their way out of a store, and those it is asked for. */
import { furthestTime } from './events/time.ts'

/** The last characters of an ISO time. */
const thousandths = Array.from({ length: 1000 }, (_, rest) => `${String(rest).padStart(3, '0')}Z`)

let second = Number.NaN
let upToSecond = ''

/**
 * Milliseconds as an ISO time. Neighbouring events mostly fall into one second, and then only the last three digits
 * are new: a tenth of the cost of formatting a date, fifty times per window.
 */
export function isoTime(milliseconds: number): string {
  // In a damaged row a time may be anything; the row says so for itself.
  if (!(Math.abs(milliseconds) <= furthestTime)) return isoTime(0)
  const whole = Math.floor(milliseconds)
  const rest = ((whole % 1000) + 1000) % 1000
  const start = whole - rest
  if (start !== second) {
    upToSecond = new Date(start).toISOString().slice(0, -4)
    second = start
  }
  return upToSecond + thousandths[rest]
}

const dayMs = 24 * 60 * 60 * 1000

/** Up to when something is asked for: a day alone counts to its last moment, as it counts from its first. */
export function lastMomentOf(time: string): number {
  const at = Date.parse(time)
  return /^\d{4}-\d\d-\d\d$/.test(time) ? at + dayMs - 1 : at
}
