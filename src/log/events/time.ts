/** The largest time a `Date` can hold, in milliseconds since 1970. */
export const furthestTime = 8_640_000_000_000_000

/** True when a date such as 2026-02-28 exists. `Date.parse` turns February 30th into March 2nd. */
export function isDay(day: string): boolean {
  const midnight = new Date(`${day}T00:00:00Z`)
  return Number.isFinite(midnight.getTime()) && midnight.toISOString().startsWith(day)
}
