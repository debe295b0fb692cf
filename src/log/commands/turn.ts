/** Decisions about orchestrator turns: start, complete, fail, time out, undo. */
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
import { phaseChange, transitionEvents } from './phase.ts'
import type { PhaseSet } from './phase-set.ts'
import { findLoop, type LoopSettings } from './routing-loops.ts'

export const NewTurn = z.strictObject({
  agents: z
    .array(Id)
    .min(1)
    .max(64)
    .refine(agents => new Set(agents).size === agents.length, 'must not name an agent twice'),
  /** Phase the conversation is moved to first. */
  phase: Id.optional(),
  reason: TurnText,
  instruction: TurnStarted.shape.instruction,
  /** Name of the orchestrator. Default: the actor. */
  orchestrator: Id.optional(),
  /** Time to wait for completions; null waits without limit. Default: the project's setting. */
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

interface TurnStart {
  turnId: string
  turn: Omit<z.output<typeof NewTurn>, 'orchestrator' | 'timeoutMs'> & {
    orchestrator: string
    timeoutMs: number | null
  }
  /** Version of the person's newest message, read before the write. */
  request: number | undefined
  phases: PhaseSet | undefined
  loops: LoopSettings | undefined
}

/** Starts a turn. When the route would continue a loop, records `loop.detected` instead. */
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
    const loop = loops && findLoop(current, { agents, instruction: instruction ?? reason, request }, loops)
    if (loop) return [...events, loop]
    const moves = phase === undefined ? [] : transitionEvents(info, phases, { to: phase, reason, agent: orchestrator })
    const turnPhase = phase ?? info.phase ?? phases?.initial
    const movedFrom = moves[0]?.from
    const started: TurnStarted = {
      type: 'turn.started',
      turnId,
      number: turns.count + 1,
      orchestrator,
      agents,
      ...(turnPhase !== undefined && { phase: turnPhase }),
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

/** Records the completion of an agent, once. */
export function completeTurn(id: string, completion: z.output<typeof TurnCompletion>): Decision {
  return heads => {
    const { info, version } = openConversationIn(heads, id)
    const { agent, message, outcome = 'completed', turnId } = completion
    const open = info.turns?.open
    if (!open || (turnId !== undefined && turnId !== open.id)) {
      refuseLateCompletion(info, completion)
      return []
    }
    if (!open.agents.includes(agent)) {
      throw new IllegalState(
        `Turn ${open.id} was not routed to ${agent}, but to ${open.agents.join(', ')}. Nothing was written.`,
        { conversationId: id, agent, turnId: open.id, agents: open.agents },
      )
    }
    if (isCompletedBy(open, agent)) return []
    const recorded: CompletionRecorded = { type: 'completion.recorded', turnId: open.id, agent, outcome, message }
    return withResolution(info, open, recorded, version + 1)
  }
}

/** A turn that ended because all agents completed already has this agent's completion. */
function refuseLateCompletion(info: ConversationInfo, { agent, turnId }: z.output<typeof TurnCompletion>): void {
  const past = info.turns?.recent.find(({ id }) => id === turnId)
  if (past?.agents.includes(agent) && past.outcome !== 'undone' && past.completions.length === past.agents.length)
    return
  throw new IllegalState(
    past
      ? `Turn ${turnId} is over (${past.outcome}), so the completion of ${agent} is too late. Nothing was written; add a message instead.`
      : `There is no ${turnId === undefined ? 'open turn' : `open turn ${turnId}`} that ${agent} could complete. Nothing was written.`,
    { conversationId: info.id, agent, turnId: turnId ?? null, outcome: past?.outcome ?? null },
  )
}

function isCompletedBy({ completions }: OpenTurn, agent: string): boolean {
  return completions.some(completion => completion.agent === agent)
}

/** Name of the tool that agents report completion with. */
const completionTool = 'complete'

/** A `complete` call of a routed agent is its completion of the open turn. */
export function completionIn({ info, version }: ConversationHead, message: MessageAdded): ConversationEvent[] {
  const open = info.turns?.open
  if (!open || message.role !== 'assistant') return []
  const text = completionText(message)
  if (text === undefined) return []
  const { author: agent } = message
  if (!open.agents.includes(agent) || isCompletedBy(open, agent)) return []
  const recorded: CompletionRecorded = {
    type: 'completion.recorded',
    turnId: open.id,
    agent,
    outcome: 'completed',
    found: version + 1,
    print: printOf(text.slice(0, 20_000)),
  }
  return withResolution(info, open, recorded, version + 2)
}

/** Returns the text of a message's `complete` call; undefined without such a call. */
export function completionText({ parts }: Pick<MessageAdded, 'parts'>): string | undefined {
  const call = parts.find(part => part.type === 'tool-call' && part.name === completionTool)
  return call?.type === 'tool-call' ? resultText(call.input, textOf(parts)) : undefined
}

/** Reads the field names that such tools use, or else takes the whole input. */
function resultText(input: unknown, text: string): string {
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
  const failed = completions.some(({ outcome }) => outcome === 'failed')
  return [recorded, resolution(info, { ...open, completions }, failed ? 'failed' : 'completed')]
}

/** Ends the open turn as failed, without waiting for missing completions. */
export function failTurn(id: string, reason: string): Decision {
  return heads => {
    const { info } = openConversationIn(heads, id)
    return [resolution(info, openTurnIn(info), 'failed', reason)]
  }
}

/** Ends a turn that waited too long. */
export function timeOutTurn(): Decision {
  return (heads, now) => {
    const info = heads.conversation?.info
    const open = info?.turns?.open
    if (info?.status !== 'active' || open?.dueAt === undefined || Date.parse(open.dueAt) > now) return []
    return [resolution(info, open, 'timed-out')]
  }
}

/** Undoes the open or newest turn, and its phase change unless the phase changed again. */
export function undoTurn(
  id: string,
  phases: PhaseSet | undefined,
  { turnId, reason }: { turnId?: string; reason?: string },
): Decision {
  return heads => {
    const { info } = openConversationIn(heads, id)
    const turns = info.turns ?? noTurns
    const turn = turns.open ?? turns.recent.at(-1)
    if (!turn || (turnId !== undefined && turnId !== turn.id)) {
      throw new IllegalState(
        turn
          ? `Only the newest turn, ${turn.id}, can be undone, and ${turnId} is older. Nothing was written.`
          : 'There is no turn to undo.',
        { conversationId: id, turnId: turnId ?? null },
      )
    }
    if ('outcome' in turn && turn.outcome === 'undone') return []
    const completions = turn.completions.map(completion =>
      typeof completion === 'number' ? completion : completion.version,
    )
    const events: ConversationEvent[] = [
      { type: 'turn.undone', ...closing(turns, turn, completions), ...(reason !== undefined && { reason }) },
    ]
    const isPhaseUnchanged = info.phaseState?.version === turn.version - 1
    if (phases && turn.movedFrom !== undefined && isPhaseUnchanged)
      events.push(phaseChange(info, phases, turn.movedFrom, { reason: reason ?? `turn ${turn.id} was undone` }))
    return events
  }
}

/** Allows routing again. Earlier turns no longer count as evidence of a loop. */
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

function resolution(
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
      open.completions.map(({ version }) => version),
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

/** Returns the agents that have not completed. */
function missingIn(turn: OpenTurn): string[] {
  return turn.agents.filter(agent => !isCompletedBy(turn, agent))
}
