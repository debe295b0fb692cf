/**
 * Finds routing that goes in circles, from the turns of the log: pure, and only ever asked when a route is proposed.
 *
 * Looked at are the turns for the same request of a person, and those after the last time a loop was cleared: a person
 * who says something new, or who clears a loop, starts the count afresh, and what was cleared cannot fire again.
 */
import type { LoopDetected } from '../events/routing-loop.ts'
import { likeness, printOf, wordsIn } from '../views/text-sketch.ts'
import type { PastTurn, TurnsState } from '../views/turns.ts'

export interface LoopSettings {
  /** The same agents asked for the same this often. */
  repeats: number | null
  /** Two routes taking turns this often. */
  alternations: number | null
  /** This many turns in a row that brought nothing new. */
  noProgress: number | null
  /** This many turns without a word from a person. */
  hopLimit: number | null
  /** From which share of words in common two texts count as the same. */
  likeness: number
  /** What clears a loop beside `clearLoop`. */
  clearOn: {
    /** A new message of a person. */
    request: boolean
    /** This long after it was found, at the next route; null never. */
    afterMs: number | null
  }
}

/** Tuned on recorded runs of a real orchestrator: docs/internals/teams.md has the figures. */
export const defaultLoopSettings: LoopSettings = {
  repeats: 4,
  alternations: 4,
  noProgress: 2,
  hopLimit: 50,
  likeness: 0.7,
  clearOn: { request: false, afterMs: null },
}

/** How far back the same route, and the same answer, are looked for. */
const window = 8
/** A result as short as "done, all tests pass" says nothing about progress. */
const fewWords = 8

interface ProposedRoute {
  agents: readonly string[]
  /** What is asked of them. */
  asked: string
  /** Version of the person's message it is for. */
  request: number | undefined
}

export function findLoop(turns: TurnsState, route: ProposedRoute, settings: LoopSettings): LoopDetected | undefined {
  const since = turns.clearedAt ?? 0
  const past = turns.recent.filter(
    turn => turn.version > since && turn.request === route.request && turn.outcome !== 'undone',
  )
  const hops = route.request === turns.request ? turns.hops : 0
  const found =
    sameRoute(past, route, settings) ??
    alternating(past, route, settings) ??
    noProgress(past, settings) ??
    tooManyHops(past, hops, settings)
  return found && { type: 'loop.detected', agents: [...route.agents], ...found }
}

type Found = Pick<LoopDetected, 'kind' | 'evidence' | 'finding'>

function sameRoute(past: readonly PastTurn[], route: ProposedRoute, settings: LoopSettings): Found | undefined {
  const { repeats, likeness: enough } = settings
  if (repeats === null) return undefined
  const asked = printOf(route.asked)
  const same = past
    .slice(-window)
    .filter(turn => namesOf(turn) === namesOf(route) && likeness(turn.asked, asked) >= enough)
  if (same.length + 1 < repeats) return undefined
  return {
    kind: 'same-route',
    evidence: same.map(turn => turn.version),
    finding: `${route.agents.join(', ')} would be asked for the same the ${same.length + 1}th time in ${window + 1} turns`,
  }
}

function alternating(past: readonly PastTurn[], route: ProposedRoute, settings: LoopSettings): Found | undefined {
  if (settings.alternations === null) return undefined
  const before = past.slice(1 - settings.alternations * 2)
  const names = [...before.map(namesOf), namesOf(route)]
  if (names.length < settings.alternations * 2 || names[0] === names[1]) return undefined
  if (!names.every((name, index) => name === names[index % 2])) return undefined
  return {
    kind: 'alternating',
    evidence: before.map(turn => turn.version),
    finding: `${before[0]!.agents.join(', ')} and ${before[1]!.agents.join(', ')} have taken turns ${settings.alternations} times`,
  }
}

/** A turn brought something new if its answer is not like one of the answers before it. */
function noProgress(past: readonly PastTurn[], settings: LoopSettings): Found | undefined {
  if (settings.noProgress === null || past.length <= settings.noProgress) return undefined
  const evidence = new Set<number>()
  for (let index = past.length - settings.noProgress; index < past.length; index++) {
    const turn = past[index]!
    const earlier = past.slice(Math.max(0, index - window), index)
    const like = earlier.find(one => saysNothing(turn, one, settings))
    if (!like) return undefined
    evidence.add(like.version).add(turn.version)
  }
  return {
    kind: 'no-progress',
    evidence: [...evidence].sort((a, b) => a - b),
    finding: `the last ${settings.noProgress} turns brought nothing that was not there before`,
  }
}

function saysNothing(turn: PastTurn, earlier: PastTurn, settings: LoopSettings): boolean {
  if (turn.answered === '') return earlier.answered === '' && turn.outcome !== 'completed'
  if (wordsIn(turn.answered) < fewWords) return false
  return likeness(turn.answered, earlier.answered) >= settings.likeness
}

function tooManyHops(past: readonly PastTurn[], hops: number, { hopLimit }: LoopSettings): Found | undefined {
  if (hopLimit === null || hops < hopLimit) return undefined
  return {
    kind: 'hop-limit',
    evidence: past.map(turn => turn.version),
    finding: `${hops} turns were taken since a person last said something (the limit is ${hopLimit})`,
  }
}

function namesOf({ agents }: { agents: readonly string[] }): string {
  return JSON.stringify([...agents].sort())
}
