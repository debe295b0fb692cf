/** Settings of phases, turns and executions, with their defaults. */
import { z } from 'zod'
import { DurationMs } from '../../log/commands/duration.ts'
import { PhaseSet } from '../../log/commands/phase-set.ts'
import { LoopSettings } from '../../log/commands/routing-loops.ts'

const minute = 60_000

export const TurnSettings = z.strictObject({
  timeoutMs: DurationMs.nullable()
    .default(30 * minute)
    .describe('Time a turn waits for completions; `null` for no limit.'),
  leaseMs: DurationMs.default(2 * minute).describe(
    'Time after its last decision in which an orchestrator keeps others from routing.',
  ),
  loops: z
    .union([z.literal('off'), LoopSettings])
    .prefault({})
    .describe("Limits of the loop detection ([teams.md](teams.md)), or `'off'`."),
})
export type TurnSettings = z.output<typeof TurnSettings>

export const TeamOptions = z.strictObject({
  phases: z
    .union([z.enum(['default', 'none']), PhaseSet])
    .default('default')
    .describe("Phases of a project: the default seven, its own, or `'none'` ([teams.md](teams.md))."),
  turns: TurnSettings.prefault({}).describe('Time-outs, lease and loop detection of orchestrator turns.'),
  executionLeaseMs: DurationMs.default(minute).describe(
    'Time without a sign of life after which an agent at work counts as dead.',
  ),
})

export interface TeamSettings {
  /** Undefined where the project has none. */
  phases: PhaseSet | undefined
  turns: TurnSettings
  executionLeaseMs: number
}
