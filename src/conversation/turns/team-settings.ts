/** How teams work on a conversation, where a caller does not say otherwise. */
import { checkDurations, DurationMs } from '../../log/commands/duration.ts'
import { type PhaseSet, type PhaseSetting, phaseSetOf } from '../../log/commands/phase-set.ts'
import { defaultLoopSettings, type LoopSettings } from '../../log/commands/routing-loops.ts'

const minute = 60_000

export interface TeamSettings {
  /** Undefined where the project has none. */
  phases: PhaseSet | undefined
  turns: TurnSettings
  /** How long an agent at work may be silent before it counts as dead; renewed by the process it runs in. */
  executionLeaseMs: number
}

export interface TurnSettings {
  /** How long a turn waits for completions; null for ever. Default 30 minutes. */
  timeoutMs: number | null
  /** How long an orchestrator keeps others from routing after its last decision. Default 2 minutes. */
  leaseMs: number
  loops: LoopSettings | 'off'
}

export interface TeamSettingsInput {
  /** The phases of the project: the default seven, its own, or none. */
  phases?: PhaseSetting
  turns?: Partial<Omit<TurnSettings, 'loops'>> & {
    loops?: 'off' | (Partial<Omit<LoopSettings, 'clearOn'>> & { clearOn?: Partial<LoopSettings['clearOn']> })
  }
  executionLeaseMs?: number
}

/** @throws {InvalidInput} when the phases do not fit together, or a duration is none */
export function completeTeamSettings({ phases, turns = {}, executionLeaseMs: given }: TeamSettingsInput): TeamSettings {
  const { loops = {}, timeoutMs = 30 * minute, leaseMs = 2 * minute } = turns
  const durations = { timeoutMs: DurationMs, leaseMs: DurationMs, executionLeaseMs: DurationMs }
  checkDurations({ timeoutMs: turns.timeoutMs, leaseMs: turns.leaseMs, executionLeaseMs: given }, durations)
  return {
    phases: phaseSetOf(phases),
    turns: {
      timeoutMs,
      leaseMs,
      loops:
        loops === 'off'
          ? 'off'
          : { ...defaultLoopSettings, ...loops, clearOn: { ...defaultLoopSettings.clearOn, ...loops.clearOn } },
    },
    executionLeaseMs: given ?? minute,
  }
}
