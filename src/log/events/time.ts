/** The furthest time, in milliseconds since 1970: what a date can hold. */
export const furthestTime = 8_640_000_000_000_000

/** Whether a date such as 2026-02-28 is in the calendar. `Date.parse` makes the 2nd of March of the 30th of February. */
export function isDay(day: string): boolean {
  const midnight = new Date(`${day}T00:00:00Z`)
  return Number.isFinite(midnight.getTime()) && midnight.toISOString().startsWith(day)
}
