/** Durations in milliseconds, bounded so that adding one to the current time gives a valid date. */
import { z } from 'zod'
import { InvalidInput } from '../../errors.ts'

/** A hundred years. */
const maxMs = 100 * 365.25 * 24 * 60 * 60 * 1000

export const DurationMs = z.int().positive().max(maxMs)

export const WaitMs = z.int().nonnegative().max(maxMs)

type Schema = typeof DurationMs | typeof WaitMs

/**
 * Checks settings that have no schema of their own. Missing and null ones pass.
 *
 * @throws {InvalidInput} naming the setting
 */
export function checkDurations(
  settings: Readonly<Record<string, number | null | undefined>>,
  schemas: Readonly<Record<string, Schema>>,
): void {
  for (const [name, value] of Object.entries(settings)) {
    if (value === null || value === undefined) continue
    const result = schemas[name]?.safeParse(value)
    if (result && !result.success) throw new InvalidInput(name, result.error.issues[0]!.message)
  }
}
