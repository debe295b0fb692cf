/** Settings of the dispatcher and its guards, with their defaults. */
import { z } from 'zod'
import { DurationMs, WaitMs } from '../../log/commands/duration.ts'

const Count = z.int().positive()
const Name = z.string().min(1)

export const GuardSettings = z.strictObject({
  hopLimit: Count.default(20).describe('Maximum number of dispatches of one item.'),
  alternations: Count.default(4).describe('Maximum number of times that two agents hand it to each other.'),
  noProgress: Count.default(2).describe('Maximum number of consecutive dispatches without anything new.'),
  likeness: z
    .number()
    .gt(0)
    .lte(1)
    .default(0.7)
    .describe('Share of words in common from which two answers count as the same.'),
  failures: Count.default(5).describe('Maximum number of consecutive failures.'),
  crashes: Count.default(5).describe('Maximum number of consecutive crashes of the process that had it.'),
  coolDownMs: WaitMs.default(0).describe('Time between two dispatches of an item.'),
  backOffMs: WaitMs.default(1_000).describe('Time before a retry after a failure; doubled for each further one.'),
  mostBackOffMs: WaitMs.default(10 * 60_000).describe('Maximum time before a retry.'),
})
export type GuardSettings = z.output<typeof GuardSettings>

export const DispatchSettings = z.strictObject({
  serve: z.boolean().default(false).describe('Runs the dispatcher in `colloquy serve`.'),
  agent: Name.optional().describe('Agent for items that are given to none. Default: `dev`.'),
  concurrency: Count.default(2).describe('Maximum number of items at a time in one process.'),
  perProject: Count.nullable()
    .default(null)
    .describe('Maximum number of items at a time in the project, in all processes; `null` for no limit.'),
  perModel: z
    .record(Name, Count)
    .readonly()
    .default({})
    .describe('Maximum number of items at a time by model name, in all processes.'),
  leaseMs: DurationMs.default(30_000).describe(
    'Time without a sign of life after which other processes take the items of a process.',
  ),
  lookEveryMs: DurationMs.default(5_000).describe('Time between two searches for work.'),
  guards: GuardSettings.prefault({}).describe('Rules that stop an item without progress ([work.md](work.md)).'),
})
export type DispatchSettings = z.output<typeof DispatchSettings>
export type DispatchSettingsInput = z.input<typeof DispatchSettings>
