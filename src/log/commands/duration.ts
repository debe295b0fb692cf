/** Durations that callers give, in milliseconds. Bounded, so that the time that follows from one is a date. */
import { z } from 'zod'
import { InvalidInput } from '../../errors.ts'

/** A hundred years: what is to last longer is given no end. */
const longestMs = 100 * 365.25 * 24 * 60 * 60 * 1000

export const DurationMs = z.int().positive().max(longestMs)

/** No time at all is one, too. */
export const WaitMs = z.int().nonnegative().max(longestMs)

type Schema = typeof DurationMs | typeof WaitMs

/**
 * For settings that have no schema. Those that are not given, or null, are not looked at.
 *
 * @throws {InvalidInput} naming the setting
 */
export function checkDurations(
  given: Readonly<Record<string, number | null | undefined>>,
  schemas: Readonly<Record<string, Schema>>,
): void {
  for (const [name, value] of Object.entries(given)) {
    if (value === null || value === undefined) continue
    // Not as an object with that one field: making such a schema takes as long as opening a file, and stores are opened often.
    const result = schemas[name]?.safeParse(value)
    if (result && !result.success) throw new InvalidInput(name, result.error.issues[0]!.message)
  }
}
