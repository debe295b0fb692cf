/**
 * Finds loops in the turns of a conversation when a new route is proposed.
 *
 * Only turns for the same message of a person count, and only those after the last cleared loop. So a new message of a
 * person starts the count again, and a cleared loop is not found again.
 */
import { z } from 'zod'
import type { LoopDetected } from '../events/routing-loop.ts'
import { likeness, printOf, wordsIn } from '../views/text-sketch.ts'
import type { PastTurn, TurnsState } from '../views/turns.ts'
import { DurationMs } from './duration.ts'

const Limit = z.int().positive().nullable()

/** The defaults are tuned on recorded runs of a real orchestrator: docs/internals/teams.md has the figures. */
export const LoopSettings = z.strictObject({
  repeats: Limit.default(4).describe('Number of times that the same agents are asked for the same.'),
  alternations: Limit.default(4).describe('Number of times that two routes take turns.'),
  noProgress: Limit.default(2).describe('Number of consecutive turns without anything new.'),
  hopLimit: Limit.default(50).describe('Number of turns without a message of a person.'),
  likeness: z
    .number()
    .gt(0)
    .lte(1)
    .default(0.7)
    .describe('Share of words in common from which two texts count as the same.'),
  clearOn: z
    .strictObject({
      request: z.boolean().default(false).describe('A new message of a person clears a loop.'),
      afterMs: DurationMs.nullable()
        .default(null)
        .describe('Time after which the next route clears a loop; `null` for never.'),
    })
    .prefault({})
    .describe('Events that clear a loop besides `clearLoop`.'),
})
export type LoopSettings = z.output<typeof LoopSettings>

/** Number of past turns compared. */
const comparedTurns = 8
/** A shorter answer, such as "done, all tests pass", tells nothing about progress. */
const minWords = 8

interface ProposedRoute {
  agents: readonly string[]
  instruction: string
  /** Version of the person's message. */
  request: number | undefined
}

export function findLoop(turns: TurnsState, route: ProposedRoute, settings: LoopSettings): LoopDetected | undefined {
  const since = turns.clearedAt ?? 0
  const past = turns.recent.filter(
    turn => turn.version > since && turn.request === route.request && turn.outcome !== 'undone',
  )
  const hops = route.request === turns.request ? turns.hops : 0
  const finding =
    sameRoute(past, route, settings) ??
    alternating(past, route, settings) ??
    noProgress(past, settings) ??
    tooManyHops(past, hops, settings)
  return finding && { type: 'loop.detected', agents: [...route.agents], ...finding }
}

type Finding = Pick<LoopDetected, 'kind' | 'evidence' | 'finding'>

function sameRoute(past: readonly PastTurn[], route: ProposedRoute, settings: LoopSettings): Finding | undefined {
  const { repeats } = settings
  if (repeats === null) return undefined
  const instruction = printOf(route.instruction)
  const same = past
    .slice(-comparedTurns)
    .filter(turn => namesOf(turn) === namesOf(route) && likeness(turn.asked, instruction) >= settings.likeness)
  if (same.length + 1 < repeats) return undefined
  return {
    kind: 'same-route',
    evidence: same.map(turn => turn.version),
    finding: `${route.agents.join(', ')} would get the same instruction ${same.length + 1} times in ${comparedTurns + 1} turns`,
  }
}

function alternating(past: readonly PastTurn[], route: ProposedRoute, settings: LoopSettings): Finding | undefined {
  if (settings.alternations === null) return undefined
  const turns = past.slice(1 - settings.alternations * 2)
  const names = [...turns.map(namesOf), namesOf(route)]
  if (names.length < settings.alternations * 2 || names[0] === names[1]) return undefined
  if (!names.every((name, index) => name === names[index % 2])) return undefined
  return {
    kind: 'alternating',
    evidence: turns.map(turn => turn.version),
    finding: `${turns[0]!.agents.join(', ')} and ${turns[1]!.agents.join(', ')} have alternated ${settings.alternations} times`,
  }
}

/** A turn brings something new if its answer resembles no earlier answer. */
function noProgress(past: readonly PastTurn[], settings: LoopSettings): Finding | undefined {
  if (settings.noProgress === null || past.length <= settings.noProgress) return undefined
  const evidence = new Set<number>()
  for (let index = past.length - settings.noProgress; index < past.length; index++) {
    const turn = past[index]!
    const earlier = past.slice(Math.max(0, index - comparedTurns), index)
    const repeated = earlier.find(other => repeats(turn, other, settings))
    if (!repeated) return undefined
    evidence.add(repeated.version).add(turn.version)
  }
  return {
    kind: 'no-progress',
    evidence: [...evidence].sort((a, b) => a - b),
    finding: `the last ${settings.noProgress} turns brought nothing new`,
  }
}

function repeats(turn: PastTurn, earlier: PastTurn, settings: LoopSettings): boolean {
  if (turn.answered === '') return earlier.answered === '' && turn.outcome !== 'completed'
  if (wordsIn(turn.answered) < minWords) return false
  return likeness(turn.answered, earlier.answered) >= settings.likeness
}

function tooManyHops(past: readonly PastTurn[], hops: number, { hopLimit }: LoopSettings): Finding | undefined {
  if (hopLimit === null || hops < hopLimit) return undefined
  return {
    kind: 'hop-limit',
    evidence: past.map(turn => turn.version),
    finding: `${hops} turns were taken since the last message of a person (the limit is ${hopLimit})`,
  }
}

function namesOf({ agents }: { agents: readonly string[] }): string {
  return JSON.stringify([...agents].sort())
}
