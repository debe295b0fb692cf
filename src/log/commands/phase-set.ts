/** The phases of a project: their names, legal transitions and time-outs. */
import { z } from 'zod'
import { InvalidInput } from '../../errors.ts'
import { Id } from '../events/id.ts'
import { DurationMs } from './duration.ts'
import { parseInput } from './input.ts'

const Phase = z.strictObject({
  /** The phases that may follow. */
  to: z.array(Id),
  /** Time after which the phase counts as stuck. Default: never. */
  timeoutMs: DurationMs.optional(),
  /** Reaction of the sweep to a stuck phase: report it (the default), or report it and move on. */
  onTimeout: z.union([z.literal('report'), z.strictObject({ moveTo: Id })]).optional(),
  /** Moving to one of these phases clears the record of files that agents have read. */
  forgetsReadFilesTo: z.array(Id).optional(),
})

export const PhaseSet = z.strictObject({ initial: Id, phases: z.record(Id, Phase) })
export type PhaseSet = z.infer<typeof PhaseSet>

/** A project's own phases, or none. */
export type PhaseSetting = PhaseSet | 'default' | 'none'

export const defaultPhases: PhaseSet = {
  initial: 'chat',
  phases: {
    chat: { to: ['brainstorm', 'plan', 'execute'] },
    brainstorm: { to: ['chat', 'plan', 'execute'] },
    plan: { to: ['chat', 'brainstorm', 'execute'] },
    execute: { to: ['verification', 'chat'] },
    verification: { to: ['chores', 'execute', 'chat'] },
    chores: { to: ['reflection', 'execute', 'chat'] },
    reflection: { to: ['chat'], forgetsReadFilesTo: ['chat'] },
  },
}

/**
 * @returns undefined when the project has no phases
 * @throws {InvalidInput} when a phase is unknown or unreachable, or when time-outs move in a circle
 */
export function phaseSetOf(setting: PhaseSetting = 'default'): PhaseSet | undefined {
  if (setting === 'none') return undefined
  if (setting === 'default') return defaultPhases
  const { phases } = parseInput(z.object({ phases: PhaseSet }), { phases: setting })
  const problem = problemOf(phases)
  if (problem) throw new InvalidInput('phases', problem)
  return phases
}

/** Returns the phases that may follow. From a phase the project no longer has, all may. */
export function legalFrom(set: PhaseSet, phase: string | undefined): readonly string[] {
  if (phase === undefined) return legalFrom(set, set.initial)
  return Object.hasOwn(set.phases, phase) ? set.phases[phase]!.to : Object.keys(set.phases)
}

function problemOf({ initial, phases }: PhaseSet): string | undefined {
  const names = new Set(Object.keys(phases))
  if (!names.has(initial)) return `the initial phase "${initial}" is not one of ${[...names].join(', ')}`
  for (const [name, { to, onTimeout, timeoutMs, forgetsReadFilesTo = [] }] of Object.entries(phases)) {
    const unknown = [...to, ...forgetsReadFilesTo].find(target => !names.has(target))
    if (unknown !== undefined) return `"${name}" leads to "${unknown}", which is not one of ${[...names].join(', ')}`
    if (onTimeout !== undefined && timeoutMs === undefined) return `"${name}" has onTimeout but no timeoutMs`
    if (typeof onTimeout === 'object' && !to.includes(onTimeout.moveTo))
      return `"${name}" moves to "${onTimeout.moveTo}" on its time-out, which may not follow it`
  }
  const reached = new Set([initial])
  for (const name of reached) for (const target of phases[name]!.to) reached.add(target)
  const unreachable = [...names].find(name => !reached.has(name))
  if (unreachable !== undefined) return `"${unreachable}" cannot be reached from "${initial}"`
  // A circle of time-outs would make the sweep move an abandoned conversation endlessly.
  for (const name of names) {
    const seen = new Set<string>()
    for (let at: string | undefined = name; at !== undefined; at = movedTo(phases[at])) {
      if (seen.has(at)) return `the time-outs of ${[...seen].join(', ')} move in a circle`
      seen.add(at)
    }
  }
  return undefined
}

function movedTo(phase: PhaseSet['phases'][string] | undefined): string | undefined {
  return typeof phase?.onTimeout === 'object' ? phase.onTimeout.moveTo : undefined
}
