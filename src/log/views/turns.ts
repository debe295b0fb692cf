/**
 * An orchestrator's turns: the open one, sketches of the newest closed ones, and whether routing is blocked.
 *
 * Texts stay in the log, and the state has their versions, so that its size stays constant.
 */

import type { RecordedEvent } from '../events/recorded-event.ts'
import type { LoopKind } from '../events/routing-loop.ts'
import type { TurnOutcome } from '../events/turn.ts'
import { addPrints, printOf } from './text-sketch.ts'

export interface TurnsState {
  /** Number of turns so far. */
  count: number
  open?: OpenTurn
  /** The newest closed turns, oldest first. */
  recent: readonly PastTurn[]
  /** Version of the event that closed the newest turn. */
  closedAt?: number
  /** The person's message that the newest turn was for, and the number of turns it has taken. */
  request?: number
  hops: number
  /** Set while routing is blocked. */
  loop?: { version: number; at: string; kind: LoopKind; finding: string; evidence: readonly number[] }
  /** Turns up to this version no longer count as evidence of a loop. */
  clearedAt?: number
}

export interface OpenTurn {
  id: string
  number: number
  /** Version of its start. */
  version: number
  /** ISO time. */
  startedAt: string
  orchestrator: string
  agents: readonly string[]
  movedFrom?: string
  dueAt?: string
  completions: ReadonlyArray<{ agent: string; version: number; outcome: 'completed' | 'failed' }>
  /** Sketches of the instruction and of the results. */
  asked: string
  answered: string
}

export interface PastTurn {
  id: string
  version: number
  closedAt: number
  agents: readonly string[]
  completions: readonly number[]
  outcome: TurnOutcome | 'undone'
  movedFrom?: string
  request?: number
  asked: string
  answered: string
}

/** Loop detection looks back over this many. */
const rememberedTurns = 12

export const noTurns: TurnsState = { count: 0, recent: [], hops: 0 }

export function evolveTurns(state: TurnsState | undefined, recorded: RecordedEvent): TurnsState | undefined {
  const { event, version, at } = recorded
  const turns = state ?? noTurns
  switch (event.type) {
    case 'turn.started': {
      const { turnId: id, number, orchestrator, agents, movedFrom, dueAt, request } = event
      const { request: _, ...rest } = turns
      return {
        ...rest,
        count: turns.count + 1,
        ...(request !== undefined && { request }),
        hops: request === turns.request ? turns.hops + 1 : 1,
        open: {
          id,
          number,
          version,
          startedAt: at,
          orchestrator,
          agents,
          ...(movedFrom !== undefined && { movedFrom }),
          ...(dueAt !== undefined && { dueAt }),
          completions: [],
          asked: printOf(event.instruction ?? event.reason),
          answered: '',
        },
      }
    }
    case 'completion.recorded': {
      const { open } = turns
      if (open?.id !== event.turnId) return state
      const completions = [...open.completions, { agent: event.agent, version, outcome: event.outcome }]
      return {
        ...turns,
        open: { ...open, completions, answered: addPrints(open.answered, event.print ?? printOf(event.message ?? '')) },
      }
    }
    case 'turn.resolved':
    case 'turn.undone': {
      const outcome: PastTurn['outcome'] = event.type === 'turn.undone' ? 'undone' : event.outcome
      const { open, ...rest } = turns
      if (open?.id === event.turnId)
        return {
          ...rest,
          closedAt: version,
          recent: [...turns.recent, closedTurn(open, turns.request, version, outcome)].slice(-rememberedTurns),
        }
      const recent = turns.recent.map(turn =>
        turn.id === event.turnId ? { ...turn, outcome, closedAt: version } : turn,
      )
      return { ...turns, closedAt: version, recent }
    }
    case 'loop.detected': {
      const { kind, finding, evidence } = event
      return { ...turns, loop: { version, at, kind, finding, evidence } }
    }
    case 'loop.cleared': {
      const { loop: _, ...rest } = turns
      return { ...rest, hops: 0, clearedAt: version }
    }
    default:
      return state
  }
}

function closedTurn(
  open: OpenTurn,
  request: number | undefined,
  closedAt: number,
  outcome: PastTurn['outcome'],
): PastTurn {
  const { id, version, agents, completions, movedFrom, asked, answered } = open
  return {
    id,
    version,
    closedAt,
    agents,
    completions: completions.map(completion => completion.version),
    outcome,
    ...(movedFrom !== undefined && { movedFrom }),
    ...(request !== undefined && { request }),
    asked,
    answered,
  }
}
