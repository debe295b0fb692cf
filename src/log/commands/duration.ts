/** Durations in milliseconds, bounded so that adding one to the current time gives a valid date. */
import { z } from 'zod'

/** A hundred years. */
const maxMs = 100 * 365.25 * 24 * 60 * 60 * 1000

export const DurationMs = z.int().positive().max(maxMs)

export const WaitMs = z.int().nonnegative().max(maxMs)
