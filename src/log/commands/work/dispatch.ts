/** An item is given to an agent, and comes back; or a guard keeps it, until a person lets it go on. */

import type { ConversationEvent } from '../../events/event.ts'
import type { DispatchEnded, GuardTripped } from '../../events/work/dispatch.ts'
import type { AttemptOutcome } from '../../events/work/work.ts'
import type { WorkItem } from '../../events/work-item.ts'
import type { DispatchesState } from '../../views/work/dispatches.ts'
import { legalMoves } from '../../views/work/state-transitions.ts'
import type { Decision } from '../decision.ts'
import { type Beginning, begin, moveWork, openWorkIn, reportWork } from './work.ts'

interface DispatchStart {
  item: WorkItem
  dispatchId: string
  agent: string
  node: string
  /** The states that somebody can act on; in any other nothing is started. */
  states: readonly string[]
  /** Where it goes when it is given to somebody, if it is not there. */
  to: string | undefined
  /** Where it goes when a guard keeps it. */
  parkedIn: string
  /** Why it may not be given to the agent, from the facts as they are now. */
  guard(
    state: DispatchesState | undefined,
  ): (Pick<GuardTripped, 'kind' | 'finding'> & { evidence: readonly number[] }) | undefined
  /** Milliseconds since 1970 before which it is given to nobody. */
  waitsUntil(state: DispatchesState | undefined): number
  beginning: Beginning
}

/**
 * Gives an item to an agent; or parks it, when a guard says so; or does nothing, when there is nothing to do any more or
 * not yet. What was recorded says which. Whoever calls holds the item's lease, so a dispatch that is still open is dead:
 * it is ended here, and if there is reason to, that is all for now.
 */
export function startDispatch(start: DispatchStart): Decision {
  const { item, dispatchId, agent, node, states, to, parkedIn, beginning } = start
  return (heads, now) => {
    const info = heads.conversation?.info
    const events: ConversationEvent[] = [...begin(heads, item, beginning)]
    const state = info?.work?.state ?? 'planning'
    if (!states.includes(state)) return []
    let known = info?.dispatches
    if (known?.open) {
      const { id, agent: dead, version } = known.open
      const past = { id, agent: dead, version, outcome: 'crashed' as const, print: '', endedAt: iso(now) }
      const { open: _, ...rest } = known
      known = { ...rest, crashes: known.crashes + 1, recent: [...known.recent, past] }
      const until = start.waitsUntil(known)
      events.push(
        { type: 'dispatch.ended', item, dispatchId: id, agent: dead, outcome: 'crashed' },
        {
          type: 'work.attempted',
          item,
          outcome: 'aborted',
          reason: 'the process that had it ended, or stalled, without a word',
          ...(until > now && { notBefore: iso(until) }),
          by: { agent: dead },
        },
      )
    }
    const found = start.guard(known)
    if (found) {
      const isNew = known?.tripped === undefined
      if (isNew) {
        const { kind, finding, evidence } = found
        events.push({ type: 'guard.tripped', item, kind, finding, evidence: [...evidence] })
      }
      const data = { guard: found.kind }
      return [...events, ...moveWork(item, parkedIn, { reason: found.finding, data }, beginning)(heads, now)]
    }
    if (start.waitsUntil(known) > now) return events.filter(event => event.type !== 'conversation.created')
    if (to !== undefined && to !== state) {
      const [moved] = moveWork(item, to, { by: { agent } }, beginning)(heads, now).slice(-1)
      events.push(moved!)
    }
    return [...events, { type: 'dispatch.started', item, dispatchId, agent, state, node }]
  }
}

interface DispatchEnd {
  item: WorkItem
  dispatchId: string
  agent: string
  sessionId: string | undefined
  outcome: DispatchEnded['outcome']
  /** Why it failed, was parked or stopped. */
  reason?: string
  /** What came of it. */
  summary?: string
  print?: string
  next?: NonNullable<DispatchEnded['next']>
  /** Where it goes. Undefined: it stays where it is. */
  to: string | undefined
  /** How long to wait before it is tried again. */
  waitMs(state: DispatchesState): number
  beginning: Beginning
}

/** What an attempt is called among the facts about work. */
const attempts: Record<DispatchEnded['outcome'], AttemptOutcome> = {
  done: 'done',
  continues: 'done',
  parked: 'failed',
  failed: 'failed',
  stopped: 'aborted',
  crashed: 'aborted',
}

/** Takes an item back, with what came of it. One that was ended already records nothing. */
export function endDispatch(end: DispatchEnd): Decision {
  const { item, dispatchId, agent, sessionId, outcome, reason, summary, print, next, to, beginning } = end
  return (heads, now) => {
    const info = heads.conversation?.info
    const state = info?.dispatches
    if (!state?.open || state.open.id !== dispatchId) return []
    const by = { agent, ...(sessionId !== undefined && { sessionId }) }
    const failures = outcome === 'failed' ? state.failures + 1 : outcome === 'continues' ? 0 : state.failures
    const waitMs = end.waitMs({ ...state, failures, crashes: outcome === 'continues' ? 0 : state.crashes })
    const isTriedAgain = outcome === 'failed' || outcome === 'continues'
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
        ...(isTriedAgain && waitMs > 0 && { notBefore: iso(now + waitMs) }),
        by,
      },
    ]
    if (summary !== undefined) events.push(...reportWork(item, { summary, by }, beginning)(heads, now))
    // Somebody else may have moved it meanwhile: what came of the work counts all the same.
    const current = info?.work?.state
    const mayMove = info?.work && legalMoves(info.work.type, current!).includes(to ?? '')
    if (to !== undefined && to !== current && mayMove)
      events.push(...moveWork(item, to, { by, ...(reason !== undefined && { reason }) }, beginning)(heads, now))
    return events
  }
}

/**
 * A person lets an item go on: what was seen so far is no evidence any more, and it goes back to where it can be given
 * to somebody.
 */
export function clearGuards(item: WorkItem, reason: string | undefined, to: string, beginning: Beginning): Decision {
  return (heads, now) => {
    const work = openWorkIn(heads, item)
    const said = reason === undefined ? {} : { reason }
    const moves = work.state === to ? [] : moveWork(item, to, said, beginning)(heads, now)
    return [{ type: 'guard.cleared', item, ...said }, ...moves]
  }
}

function iso(milliseconds: number): string {
  return new Date(milliseconds).toISOString()
}
