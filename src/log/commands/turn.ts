/** An orchestrator routes, agents complete, turns are resolved; or undone. */
import { z } from 'zod'
import { IllegalState, RoutingBlocked, TurnOpen } from '../../errors.ts'
import type { ConversationEvent } from '../events/event.ts'
import { Id } from '../events/id.ts'
import type { MessageAdded } from '../events/message.ts'
import { type CompletionRecorded, type TurnResolved, TurnStarted, TurnText } from '../events/turn.ts'
import type { ConversationHead, ConversationInfo } from '../views/conversation.ts'
import { textOf } from '../views/message.ts'
import { printOf } from '../views/text-sketch.ts'
import { noTurns, type OpenTurn, type TurnsState } from '../views/turns.ts'
import { type Decision, openConversationIn } from './decision.ts'
import { DurationMs } from './duration.ts'
import { changed, changeOf } from './phase.ts'
import type { PhaseSet } from './phase-set.ts'
import { findLoop, type LoopSettings } from './routing-loops.ts'

export const NewTurn = z.strictObject({
  agents: z
    .array(Id)
    .min(1)
    .max(64)
    .refine(agents => new Set(agents).size === agents.length, 'names an agent twice'),
  /** Moves the conversation there first, if it is not there already. */
  phase: Id.optional(),
  reason: TurnText,
  instruction: TurnStarted.shape.instruction,
  /** Who routes; one at a time. Default: the actor. */
  orchestrator: Id.optional(),
  /** How long to wait for completions; null for ever. Default: what the project says. */
  timeoutMs: DurationMs.nullable().optional(),
})
export type NewTurn = z.input<typeof NewTurn>

export const TurnCompletion = z.strictObject({
  agent: Id,
  message: TurnText,
  outcome: z.enum(['completed', 'failed']).optional(),
  /** Default: the open turn. */
  turnId: Id.optional(),
})
export type TurnCompletion = z.input<typeof TurnCompletion>

export interface TurnStart {
  turnId: string
  turn: Omit<z.output<typeof NewTurn>, 'orchestrator' | 'timeoutMs'> & {
    orchestrator: string
    timeoutMs: number | null
  }
  /** Version of the person's newest message, looked up beforehand. */
  request: number | undefined
  phases: PhaseSet | undefined
  loops: LoopSettings | undefined
}

/**
 * Starts a turn; or, when routing goes in circles, records that it does and starts none. What was recorded says which.
 */
export function startTurn(id: string, { turnId, turn, request, phases, loops }: TurnStart): Decision {
  return (heads, now) => {
    const { info } = openConversationIn(heads, id)
    const turns = info.turns ?? noTurns
    const { agents, orchestrator, phase, reason, instruction, timeoutMs } = turn
    const events: ConversationEvent[] = []
    if (turns.open) throw new TurnOpen({ conversationId: id, turnId: turns.open.id, waitingFor: missingIn(turns.open) })
    let current = turns
    if (turns.loop) {
      const rule = loops && clearingRule(turns.loop, { request, now, loops })
      if (!rule) throw blocked(id, turns.loop)
      events.push({ type: 'loop.cleared', rule })
      current = { ...turns, hops: 0, clearedAt: heads.conversation!.version + 1 }
    }
    const loop = loops && findLoop(current, { agents, asked: instruction ?? reason, request }, loops)
    if (loop) return [...events, loop]
    const moves = phase === undefined ? [] : changeOf(info, phases, { to: phase, reason, agent: orchestrator })
    const inPhase = phase ?? info.phase ?? phases?.initial
    const movedFrom = moves[0]?.from
    const started: TurnStarted = {
      type: 'turn.started',
      turnId,
      number: turns.count + 1,
      orchestrator,
      agents,
      ...(inPhase !== undefined && { phase: inPhase }),
      ...(movedFrom !== undefined && { movedFrom }),
      reason,
      ...(instruction !== undefined && { instruction }),
      ...(request !== undefined && { request }),
      ...(timeoutMs !== null && { dueAt: new Date(now + timeoutMs).toISOString() }),
    }
    return [...events, ...moves, started]
  }
}

function clearingRule(
  loop: NonNullable<TurnsState['loop']>,
  { request, now, loops }: { request: number | undefined; now: number; loops: LoopSettings },
): 'new-request' | 'cool-down' | undefined {
  const { clearOn } = loops
  if (clearOn.request && request !== undefined && request > loop.version) return 'new-request'
  if (clearOn.afterMs !== null && Date.parse(loop.at) + clearOn.afterMs <= now) return 'cool-down'
  return undefined
}

export function blocked(conversationId: string, loop: NonNullable<TurnsState['loop']>): RoutingBlocked {
  const { kind, finding, evidence, version } = loop
  return new RoutingBlocked({ conversationId, kind, finding, evidence, since: version })
}

/** Records that an agent is done. The same agent again changes nothing. */
export function completeTurn(id: string, completion: z.output<typeof TurnCompletion>): Decision {
  return heads => {
    const head = openConversationIn(heads, id)
    const { agent, message, outcome = 'completed', turnId } = completion
    const open = head.info.turns?.open
    if (!open || (turnId !== undefined && turnId !== open.id)) {
      const past = head.info.turns?.recent.find(turn => turn.id === turnId)
      // A turn that is over because everybody completed has this agent's completion too.
      if (past?.agents.includes(agent) && past.outcome !== 'undone' && past.completions.length === past.agents.length)
        return []
      const facts = { conversationId: id, agent, turnId: turnId ?? null, outcome: past?.outcome ?? null }
      throw new IllegalState(
        past
          ? `Turn ${turnId} is over (${past.outcome}); the completion of ${agent} comes too late. Say it in a message.`
          : `There is no ${turnId === undefined ? 'open turn' : `open turn ${turnId}`} that ${agent} could complete.`,
        facts,
      )
    }
    if (!open.agents.includes(agent)) {
      throw new IllegalState(`Turn ${open.id} was not routed to ${agent}, but to ${open.agents.join(', ')}.`, {
        conversationId: id,
        agent,
        turnId: open.id,
        agents: open.agents,
      })
    }
    if (open.completions.some(one => one.agent === agent)) return []
    const recorded: CompletionRecorded = { type: 'completion.recorded', turnId: open.id, agent, outcome, message }
    return withResolution(head.info, open, recorded, head.version + 1)
  }
}

/** The tool that agents say they are done with. */
const completionTool = 'complete'

/** What a message means for the open turn: a `complete` call of an agent that was routed to is its completion. */
export function completionIn(head: ConversationHead, message: MessageAdded): ConversationEvent[] {
  const open = head.info.turns?.open
  if (!open || message.role !== 'assistant') return []
  const said = completionText(message)
  if (said === undefined) return []
  const { author: agent } = message
  if (!open.agents.includes(agent) || open.completions.some(one => one.agent === agent)) return []
  const recorded: CompletionRecorded = {
    type: 'completion.recorded',
    turnId: open.id,
    agent,
    outcome: 'completed',
    found: head.version + 1,
    print: printOf(said.slice(0, 20_000)),
  }
  return withResolution(head.info, open, recorded, head.version + 2)
}

/** What a message's `complete` call says; undefined when it has none. */
export function completionText({ parts }: Pick<MessageAdded, 'parts'>): string | undefined {
  const call = parts.find(part => part.type === 'tool-call' && part.name === completionTool)
  return call?.type === 'tool-call' ? saidIn(call.input, textOf(parts)) : undefined
}

/** By one of the names such tools use, or the whole of its input. */
function saidIn(input: unknown, text: string): string {
  if (typeof input === 'string' && input !== '') return input
  if (typeof input === 'object' && input !== null) {
    for (const name of ['response', 'message', 'summary', 'result'] as const) {
      const value = (input as Record<string, unknown>)[name]
      if (typeof value === 'string' && value !== '') return value
    }
    if (text === '' && Object.keys(input).length > 0) return JSON.stringify(input)
  }
  return text
}

function withResolution(
  info: ConversationInfo,
  open: OpenTurn,
  recorded: CompletionRecorded,
  version: number,
): ConversationEvent[] {
  const completions = [...open.completions, { agent: recorded.agent, version, outcome: recorded.outcome }]
  if (completions.length < open.agents.length) return [recorded]
  const failed = completions.some(one => one.outcome === 'failed')
  return [recorded, resolved(info, { ...open, completions }, failed ? 'failed' : 'completed')]
}

/** Ends the open turn as failed, without waiting for those who have not completed. */
export function failTurn(id: string, reason: string): Decision {
  return heads => {
    const { info } = openConversationIn(heads, id)
    return [resolved(info, openTurnIn(info), 'failed', reason)]
  }
}

/** Ends a turn that waited too long. */
export function timeOutTurn(): Decision {
  return (heads, now) => {
    const info = heads.conversation?.info
    const open = info?.turns?.open
    if (info?.status !== 'active' || open?.dueAt === undefined || Date.parse(open.dueAt) > now) return []
    return [resolved(info, open, 'timed-out')]
  }
}

/** Takes a routing decision back: the open turn, or the newest closed one; and the phase it moved to, if it is still there. */
export function undoTurn(
  id: string,
  phases: PhaseSet | undefined,
  asked: { turnId?: string; reason?: string },
): Decision {
  return heads => {
    const { info } = openConversationIn(heads, id)
    const turns = info.turns ?? noTurns
    const { reason } = asked
    const turn = turns.open ?? turns.recent.at(-1)
    if (!turn || (asked.turnId !== undefined && asked.turnId !== turn.id)) {
      throw new IllegalState(
        turn
          ? `Only the newest turn, ${turn.id}, can be undone; others have followed ${asked.turnId}.`
          : 'No turn was started yet.',
        { conversationId: id, turnId: asked.turnId ?? null },
      )
    }
    if ('outcome' in turn && turn.outcome === 'undone') return []
    const said = reason === undefined ? {} : { reason }
    const completions = turn.completions.map(one => (typeof one === 'number' ? one : one.version))
    const events: ConversationEvent[] = [{ type: 'turn.undone', ...closing(turns, turn, completions), ...said }]
    const isThere = info.phaseState?.version === turn.version - 1
    if (phases && turn.movedFrom !== undefined && isThere)
      events.push(changed(info, phases, turn.movedFrom, { reason: reason ?? `turn ${turn.id} was undone` }))
    return events
  }
}

/** Lets routing go on. What was seen so far is no evidence any more. */
export function clearLoop(id: string, reason: string | undefined): Decision {
  return heads => {
    const { info } = openConversationIn(heads, id)
    return info.turns?.loop ? [{ type: 'loop.cleared', ...(reason !== undefined && { reason }) }] : []
  }
}

function openTurnIn(info: ConversationInfo): OpenTurn {
  if (info.turns?.open) return info.turns.open
  throw new IllegalState('No turn is open.', { conversationId: info.id })
}

function resolved(
  info: ConversationInfo,
  open: OpenTurn,
  outcome: TurnResolved['outcome'],
  reason?: string,
): TurnResolved {
  return {
    type: 'turn.resolved',
    ...closing(
      info.turns!,
      open,
      open.completions.map(one => one.version),
    ),
    outcome,
    missing: missingIn(open),
    ...(reason !== undefined && { reason }),
  }
}

function closing(turns: TurnsState, turn: { id: string; version: number }, completions: number[]) {
  return {
    turnId: turn.id,
    started: turn.version,
    completions,
    ...(turns.closedAt !== undefined && { previous: turns.closedAt }),
  }
}

/** Whom the turn still waits for. */
function missingIn({ agents, completions }: OpenTurn): string[] {
  return agents.filter(agent => !completions.some(one => one.agent === agent))
}
