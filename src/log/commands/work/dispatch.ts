/** Decisions about dispatches: an agent gets an item and returns it, or a guard parks the item. */
import type { ConversationEvent } from '../../events/event.ts'
import type { DispatchEnded, GuardTripped } from '../../events/work/dispatch.ts'
import type { AttemptOutcome } from '../../events/work/work.ts'
import type { WorkItem } from '../../events/work-item.ts'
import type { DispatchesState, OpenDispatch } from '../../views/work/dispatches.ts'
import { legalMoves } from '../../views/work/state-transitions.ts'
import type { Decision } from '../decision.ts'
import { ensureConversation, moveWork, type NewWorkConversation, openWorkIn, reportWork } from './work.ts'

interface DispatchStart {
  item: WorkItem
  dispatchId: string
  agent: string
  node: string
  /** States in which the item may be dispatched. */
  states: readonly string[]
  /** State of the item while it is dispatched; undefined keeps its state. */
  to: string | undefined
  /** State of the item after a guard tripped. */
  parkedIn: string
  /** Returns why the agent may not have the item, from the state at the moment of writing. */
  guard(
    state: DispatchesState | undefined,
  ): (Pick<GuardTripped, 'kind' | 'finding'> & { evidence: readonly number[] }) | undefined
  /** Milliseconds since 1970 before which the item is not dispatched. */
  waitsUntil(state: DispatchesState | undefined): number
  conversation: NewWorkConversation
}

/**
 * Dispatches an item, or parks it when a guard trips, or does nothing when there is nothing to do now.
 *
 * The caller holds the item's lease, so a dispatch that is still open is dead: it is ended first. Its back-off may then
 * delay the new dispatch.
 */
export function startDispatch(start: DispatchStart): Decision {
  const { item, dispatchId, agent, node, states, to, parkedIn, conversation } = start
  return (heads, now) => {
    const info = heads.conversation?.info
    const events: ConversationEvent[] = [...ensureConversation(heads, item, conversation)]
    const state = info?.work?.state ?? 'planning'
    if (!states.includes(state)) return []
    let dispatches = info?.dispatches
    if (dispatches?.open) {
      const { open } = dispatches
      dispatches = afterCrash(dispatches, open, now)
      events.push(...crashEvents(item, open, { now, until: start.waitsUntil(dispatches) }))
    }
    const tripped = start.guard(dispatches)
    if (tripped) {
      const { kind, finding, evidence } = tripped
      if (dispatches?.tripped === undefined)
        events.push({ type: 'guard.tripped', item, kind, finding, evidence: [...evidence] })
      const data = { guard: kind }
      return [...events, ...moveWork(item, parkedIn, { reason: finding, data }, conversation)(heads, now)]
    }
    if (start.waitsUntil(dispatches) > now) return events.filter(event => event.type !== 'conversation.created')
    if (to !== undefined && to !== state) {
      const [moved] = moveWork(item, to, { by: { agent } }, conversation)(heads, now).slice(-1)
      events.push(moved!)
    }
    return [...events, { type: 'dispatch.started', item, dispatchId, agent, state, node }]
  }
}

function afterCrash(state: DispatchesState, { id, agent, version }: OpenDispatch, now: number): DispatchesState {
  const { open: _, ...rest } = state
  const past = { id, agent, version, outcome: 'crashed' as const, print: '', endedAt: iso(now) }
  return { ...rest, crashes: state.crashes + 1, recent: [...state.recent, past] }
}

function crashEvents(
  item: WorkItem,
  { id: dispatchId, agent }: OpenDispatch,
  { now, until }: { now: number; until: number },
): ConversationEvent[] {
  return [
    { type: 'dispatch.ended', item, dispatchId, agent, outcome: 'crashed' },
    {
      type: 'work.attempted',
      item,
      outcome: 'aborted',
      reason: 'its process ended or stalled without a report',
      ...(until > now && { notBefore: iso(until) }),
      by: { agent },
    },
  ]
}

interface DispatchEnd {
  item: WorkItem
  dispatchId: string
  agent: string
  sessionId: string | undefined
  outcome: DispatchEnded['outcome']
  /** Reason of a failure, park or stop. */
  reason?: string
  /** Summary of the result. */
  summary?: string
  print?: string
  next?: NonNullable<DispatchEnded['next']>
  /** New state of the item; undefined keeps its state. */
  to: string | undefined
  /** Milliseconds until the next attempt. */
  waitMs(state: DispatchesState): number
  conversation: NewWorkConversation
}

const attempts: Record<DispatchEnded['outcome'], AttemptOutcome> = {
  done: 'done',
  continues: 'done',
  parked: 'failed',
  failed: 'failed',
  stopped: 'aborted',
  crashed: 'aborted',
}

/** Ends a dispatch with its result, once. */
export function endDispatch(end: DispatchEnd): Decision {
  const { item, dispatchId, agent, sessionId, outcome, reason, summary, print, next, to, conversation } = end
  return (heads, now) => {
    const info = heads.conversation?.info
    const state = info?.dispatches
    if (!state?.open || state.open.id !== dispatchId) return []
    const by = { agent, ...(sessionId !== undefined && { sessionId }) }
    const failures = outcome === 'failed' ? state.failures + 1 : outcome === 'continues' ? 0 : state.failures
    const waitMs = end.waitMs({ ...state, failures, crashes: outcome === 'continues' ? 0 : state.crashes })
    const isRetried = outcome === 'failed' || outcome === 'continues'
    const events: ConversationEvent[] = [
      {
        type: 'dispatch.ended',
        item,
        dispatchId,
        agent,
        outcome,
        ...(print !== undefined && { print }),
        ...(next && { next }),
      },
      {
        type: 'work.attempted',
        item,
        outcome: attempts[outcome],
        ...(reason !== undefined && { reason }),
        ...(isRetried && waitMs > 0 && { notBefore: iso(now + waitMs) }),
        by,
      },
    ]
    if (summary !== undefined) events.push(...reportWork(item, { summary, by }, conversation)(heads, now))
    // The item may have been moved meanwhile, which does not invalidate the result.
    const current = info?.work?.state
    const mayMove = info?.work && legalMoves(info.work.type, current!).includes(to ?? '')
    if (to !== undefined && to !== current && mayMove)
      events.push(...moveWork(item, to, { by, ...(reason !== undefined && { reason }) }, conversation)(heads, now))
    return events
  }
}

/** Clears tripped guards: earlier attempts no longer count, and the item returns to a state it is dispatched from. */
export function clearGuards(
  item: WorkItem,
  reason: string | undefined,
  to: string,
  conversation: NewWorkConversation,
): Decision {
  return (heads, now) => {
    const work = openWorkIn(heads, item)
    const why = reason === undefined ? {} : { reason }
    const moves = work.state === to ? [] : moveWork(item, to, why, conversation)(heads, now)
    return [{ type: 'guard.cleared', item, ...why }, ...moves]
  }
}

function iso(milliseconds: number): string {
  return new Date(milliseconds).toISOString()
}
