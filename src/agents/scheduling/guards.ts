/**
 * Guards: rules that stop dispatching an item that makes no progress. They are evaluated inside the write that would
 * dispatch it.
 *
 * They look at the dispatches since a person last cleared them. A dispatcher cannot reset them.
 */
import type { GuardTripped } from '../../log/events/work/dispatch.ts'
import { likeness, wordsIn } from '../../log/views/text-sketch.ts'
import type { DispatchesState, PastDispatch } from '../../log/views/work/dispatches.ts'
import type { GuardSettings } from './dispatch-settings.ts'

type GuardFinding = Pick<GuardTripped, 'kind' | 'finding'> & { evidence: readonly number[] }

/** Number of past dispatches compared. */
const comparedDispatches = 8
/** A shorter answer, such as "done so far", tells nothing about progress. */
const minWords = 4

/** Returns undefined when the item may be dispatched to `agent`. */
export function findGuard(
  state: DispatchesState | undefined,
  agent: string,
  settings: GuardSettings,
): GuardFinding | undefined {
  if (!state) return undefined
  if (state.tripped) return state.tripped
  const past = state.recent.filter(({ version }) => version > (state.clearedAt ?? 0))
  return (
    tooManyFailures(state, past, settings) ??
    tooManyCrashes(state, past, settings) ??
    alternating(past, agent, settings) ??
    noProgress(past, settings) ??
    tooManyHops(state, past, settings)
  )
}

/** Returns the time in milliseconds since 1970 before which the item is not dispatched. */
export function waitsUntil(state: DispatchesState | undefined, settings: GuardSettings): number {
  const last = state?.recent.at(-1)
  if (!state || !last) return 0
  return Date.parse(last.endedAt) + Math.max(settings.coolDownMs, backOff(state, settings))
}

/** Returns the back-off in milliseconds after consecutive failures and crashes. */
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
  const evidence = versionsOf(past.filter(({ outcome }) => outcome === 'failed').slice(-failures))
  return { kind: 'failures', finding: `it failed ${failures} times in a row`, evidence }
}

function tooManyCrashes(
  { crashes }: DispatchesState,
  past: readonly PastDispatch[],
  settings: GuardSettings,
): GuardFinding | undefined {
  if (crashes < settings.crashes) return undefined
  const evidence = versionsOf(past.filter(({ outcome }) => outcome === 'crashed').slice(-crashes))
  return { kind: 'crashes', finding: `its process died ${crashes} times in a row`, evidence }
}

function alternating(past: readonly PastDispatch[], agent: string, settings: GuardSettings): GuardFinding | undefined {
  const dispatches = past.filter(isSuccessful).slice(1 - settings.alternations * 2)
  const names = [...dispatches.map(dispatch => dispatch.agent), agent]
  if (names.length < settings.alternations * 2 || names[0] === names[1]) return undefined
  if (!names.every((name, index) => name === names[index % 2])) return undefined
  return {
    kind: 'alternation',
    finding: `${names[0]} and ${names[1]} handed it to each other ${settings.alternations} times`,
    evidence: versionsOf(dispatches),
  }
}

function noProgress(past: readonly PastDispatch[], settings: GuardSettings): GuardFinding | undefined {
  const dispatches = past.filter(isSuccessful)
  if (dispatches.length <= settings.noProgress) return undefined
  const evidence = new Set<number>()
  for (let index = dispatches.length - settings.noProgress; index < dispatches.length; index++) {
    const dispatch = dispatches[index]!
    const earlier = dispatches.slice(Math.max(0, index - comparedDispatches), index)
    const repeated = earlier.find(other => hasSameAnswer(dispatch, other, settings))
    if (!repeated) return undefined
    evidence.add(repeated.version).add(dispatch.version)
  }
  return {
    kind: 'no-progress',
    finding: `the last ${settings.noProgress} dispatches brought nothing new`,
    evidence: [...evidence].sort((a, b) => a - b),
  }
}

function hasSameAnswer({ print }: PastDispatch, other: PastDispatch, settings: GuardSettings): boolean {
  if (print === '') return other.print === ''
  return wordsIn(print) >= minWords && likeness(print, other.print) >= settings.likeness
}

function tooManyHops(
  { hops }: DispatchesState,
  past: readonly PastDispatch[],
  { hopLimit }: GuardSettings,
): GuardFinding | undefined {
  if (hops < hopLimit) return undefined
  return {
    kind: 'hop-limit',
    finding: `it was dispatched ${hops} times (the limit is ${hopLimit})`,
    evidence: versionsOf(past),
  }
}

/** Stopped, failed and crashed dispatches tell nothing about hand-overs or progress. */
function isSuccessful({ outcome }: PastDispatch): boolean {
  return outcome === 'continues' || outcome === 'done'
}

function versionsOf(past: readonly PastDispatch[]): number[] {
  return past.map(({ version }) => version)
}
