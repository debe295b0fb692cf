/** How work is given to agents, where a caller does not say otherwise. */
import { checkDurations, DurationMs, WaitMs } from '../../log/commands/duration.ts'
import { withoutUndefined } from '../../log/commands/omit-undefined.ts'
import { defaultGuards, type GuardSettings } from './guards.ts'

export interface DispatchSettings {
  /** Whether the server does it. Default no. */
  serve: boolean
  /** Who does what was given to nobody. Default dev. */
  agent: string | undefined
  /** Items at a time in one process. Default 2. */
  concurrency: number
  /** Items at a time in the project, in all processes; null for as many as there are. */
  perProject: number | null
  /** Items at a time on a model, by its name, in all processes. */
  perModel: Readonly<Record<string, number>>
  /** How long a process may be silent before others take its items. Default half a minute. */
  leaseMs: number
  /** How often to look for work without having been told of any. Default 5 seconds. */
  lookEveryMs: number
  guards: GuardSettings
}

export type DispatchSettingsInput = Partial<Omit<DispatchSettings, 'guards'>> & { guards?: Partial<GuardSettings> }

/** @throws {InvalidInput} naming a duration that is none */
export function completeDispatchSettings({ guards, ...given }: DispatchSettingsInput = {}): DispatchSettings {
  checkDurations({ ...guards }, { coolDownMs: WaitMs, backOffMs: WaitMs, mostBackOffMs: WaitMs })
  checkDurations(
    { leaseMs: given.leaseMs, lookEveryMs: given.lookEveryMs },
    { leaseMs: DurationMs, lookEveryMs: DurationMs },
  )
  return {
    serve: false,
    agent: undefined,
    concurrency: 2,
    perProject: null,
    perModel: {},
    leaseMs: 30_000,
    lookEveryMs: 5_000,
    ...withoutUndefined(given),
    guards: { ...defaultGuards, ...guards },
  }
}
