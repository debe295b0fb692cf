/**
 * Dispatches of a work item, folded from its conversation for the guards.
 *
 * Only a person's `guard.cleared` resets the counts. The size stays constant however many dispatches there were.
 */

import type { RecordedEvent } from '../../events/recorded-event.ts'
import type { DispatchOutcome, GuardKind } from '../../events/work/dispatch.ts'

export interface DispatchesState {
  /** Number of dispatches so far. */
  count: number
  /** Number since a person last cleared the guards. */
  hops: number
  /** Consecutive failures, and consecutive crashes; a stopped dispatch counts as neither. */
  failures: number
  crashes: number
  open?: OpenDispatch
  /** The newest ended ones, oldest first. */
  recent: readonly PastDispatch[]
  /** Hand-over by the newest one. */
  next?: { agent: string; message: string }
  /** Set while a guard stops dispatching. */
  tripped?: { version: number; at: string; kind: GuardKind; finding: string; evidence: readonly number[] }
  /** Dispatches up to this version no longer count as evidence. */
  clearedAt?: number
}

export interface OpenDispatch {
  id: string
  agent: string
  node: string
  /** Version of its start. */
  version: number
  /** ISO time. */
  startedAt: string
}

export interface PastDispatch {
  id: string
  agent: string
  version: number
  outcome: DispatchOutcome
  print: string
  /** ISO time. */
  endedAt: string
}

/** The guards look back over this many. */
export const rememberedDispatches = 16

const noDispatches: DispatchesState = { count: 0, hops: 0, failures: 0, crashes: 0, recent: [] }

export function evolveDispatches(
  state: DispatchesState | undefined,
  recorded: RecordedEvent,
): DispatchesState | undefined {
  const { event, version, at } = recorded
  const dispatches = state ?? noDispatches
  switch (event.type) {
    case 'dispatch.started': {
      const { dispatchId: id, agent, node } = event
      const { next: _, ...rest } = dispatches
      return {
        ...rest,
        count: dispatches.count + 1,
        hops: dispatches.hops + 1,
        open: { id, agent, node, version, startedAt: at },
      }
    }
    case 'dispatch.ended': {
      const { open, ...rest } = dispatches
      if (open?.id !== event.dispatchId) return state
      const { outcome, print = '', next } = event
      const past: PastDispatch = {
        id: open.id,
        agent: open.agent,
        version: open.version,
        outcome,
        print,
        endedAt: at,
      }
      return {
        ...rest,
        failures: consecutive(dispatches.failures, outcome, 'failed'),
        crashes: consecutive(dispatches.crashes, outcome, 'crashed'),
        recent: [...dispatches.recent, past].slice(-rememberedDispatches),
        ...(next && { next }),
      }
    }
    case 'guard.tripped': {
      const { kind, finding, evidence } = event
      return { ...dispatches, tripped: { version, at, kind, finding, evidence } }
    }
    case 'guard.cleared': {
      const { tripped: _, ...rest } = dispatches
      return { ...rest, hops: 0, failures: 0, crashes: 0, clearedAt: version }
    }
    default:
      return state
  }
}

function consecutive(before: number, outcome: DispatchOutcome, counted: DispatchOutcome): number {
  if (outcome === counted) return before + 1
  return outcome === 'done' || outcome === 'continues' ? 0 : before
}
