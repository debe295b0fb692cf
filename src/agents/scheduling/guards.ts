/**
 * What keeps an item from being given to agents for ever, from the facts of its log: pure, and asked inside the write
 * that would give it to somebody.
 *
 * Looked at is what happened since a person last cleared the guards. Nothing that whoever dispatches does makes that
 * less, so none of these is ever armed anew but by a person.
 */
import type { GuardTripped } from '../../log/events/work/dispatch.ts'
import { likeness, wordsIn } from '../../log/views/text-sketch.ts'
import type { DispatchesState, PastDispatch } from '../../log/views/work/dispatches.ts'
import type { GuardSettings } from './dispatch-settings.ts'

type GuardFinding = Pick<GuardTripped, 'kind' | 'finding'> & { evidence: readonly number[] }

/** How far back the same answer is looked for. */
const window = 8
/** An answer as short as "done so far" says nothing about progress. */
const fewWords = 4

/** Why the item may not be given to `agent` now; undefined when it may. */
export function findGuard(
  state: DispatchesState | undefined,
  agent: string,
  settings: GuardSettings,
): GuardFinding | undefined {
  if (!state) return undefined
  if (state.tripped) return state.tripped
  const past = state.recent.filter(one => one.version > (state.clearedAt ?? 0))
  return (
    tooManyFailures(state, past, settings) ??
    tooManyCrashes(state, past, settings) ??
    alternating(past, agent, settings) ??
    noProgress(past, settings) ??
    tooManyHops(state, past, settings)
  )
}

/** Milliseconds since 1970 before which the item is not given to anybody. */
export function waitsUntil(state: DispatchesState | undefined, settings: GuardSettings): number {
  const last = state?.recent.at(-1)
  if (!state || !last) return 0
  const ended = Date.parse(last.endedAt)
  return Math.max(ended + settings.coolDownMs, ended + backOff(state, settings))
}

/** Of failures since the last time it went well; a cleared guard begins anew. */
export function backOff({ failures, crashes }: Pick<DispatchesState, 'failures' | 'crashes'>, settings: GuardSettings) {
  const times = failures + crashes
  if (times === 0) return 0
  return Math.min(settings.mostBackOffMs, settings.backOffMs * 2 ** Math.min(30, times - 1))
}

function tooManyFailures(
  { failures }: DispatchesState,
  past: readonly PastDispatch[],
  settings: GuardSettings,
): GuardFinding | undefined {
  if (failures < settings.failures) return undefined
  const evidence = versionsOf(past.filter(one => one.outcome === 'failed').slice(-failures))
  return { kind: 'failures', finding: `it failed ${failures} times in a row`, evidence }
}

function tooManyCrashes(
  { crashes }: DispatchesState,
  past: readonly PastDispatch[],
  settings: GuardSettings,
): GuardFinding | undefined {
  if (crashes < settings.crashes) return undefined
  const evidence = versionsOf(past.filter(one => one.outcome === 'crashed').slice(-crashes))
  return { kind: 'crashes', finding: `the process that had it died ${crashes} times in a row`, evidence }
}

function alternating(past: readonly PastDispatch[], agent: string, settings: GuardSettings): GuardFinding | undefined {
  const before = past.filter(wentWell).slice(1 - settings.alternations * 2)
  const names = [...before.map(one => one.agent), agent]
  if (names.length < settings.alternations * 2 || names[0] === names[1]) return undefined
  if (!names.every((name, index) => name === names[index % 2])) return undefined
  return {
    kind: 'alternation',
    finding: `${names[0]} and ${names[1]} have handed it to each other ${settings.alternations} times`,
    evidence: versionsOf(before),
  }
}

function noProgress(past: readonly PastDispatch[], settings: GuardSettings): GuardFinding | undefined {
  const went = past.filter(wentWell)
  if (went.length <= settings.noProgress) return undefined
  const evidence = new Set<number>()
  for (let index = went.length - settings.noProgress; index < went.length; index++) {
    const one = went[index]!
    const earlier = went.slice(Math.max(0, index - window), index)
    const like = earlier.find(other => saysTheSame(one, other, settings))
    if (!like) return undefined
    evidence.add(like.version).add(one.version)
  }
  return {
    kind: 'no-progress',
    finding: `the last ${settings.noProgress} dispatches brought nothing that was not there before`,
    evidence: [...evidence].sort((a, b) => a - b),
  }
}

function saysTheSame(one: PastDispatch, other: PastDispatch, settings: GuardSettings): boolean {
  if (one.print === '') return other.print === ''
  return wordsIn(one.print) >= fewWords && likeness(one.print, other.print) >= settings.likeness
}

function tooManyHops(
  { hops }: DispatchesState,
  past: readonly PastDispatch[],
  { hopLimit }: GuardSettings,
): GuardFinding | undefined {
  if (hops < hopLimit) return undefined
  return {
    kind: 'hop-limit',
    finding: `it was given to agents ${hops} times (the limit is ${hopLimit})`,
    evidence: versionsOf(past),
  }
}

/** What was stopped, failed or crashed says nothing about who hands it to whom, nor about progress. */
function wentWell({ outcome }: PastDispatch): boolean {
  return outcome === 'continues' || outcome === 'done'
}

function versionsOf(past: readonly PastDispatch[]): number[] {
  return past.map(one => one.version)
}
