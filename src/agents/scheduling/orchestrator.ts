/**
 * The orchestrator. It reads the state of a conversation, asks a model which agents act next, starts a turn, runs its
 * agents in parallel, waits for their completions, and asks again, until the model answers END.
 *
 * All its state is in the log: an open turn is resumed, so nothing is routed twice after a crash. The log refuses routing
 * that loops, and the orchestrator stays stopped until the loop is cleared.
 */

import { LeaseLost, PhaseRefused, RoutingBlocked, TurnOpen } from '../../errors.ts'
import type { Usage } from '../../log/events/message.ts'
import type { RunOutcome } from '../../log/events/run.ts'
import { addUsage } from '../../log/views/runs.ts'
import { askForJson } from '../runs/json-question.ts'
import { type RouteDecision, readRoute } from './route.ts'
import { type RoutingContext, type RoutingState, routingSystem, routingText } from './routing-prompt.ts'

/** The agent's name and type. As `defaultAgent` it answers messages without an addressee. */
export const orchestratorName = 'orchestrator'

/** The state of a conversation for routing. */
export interface Routing {
  version: number
  context: RoutingContext
  phase: string | null
  legalPhases: readonly string[]
  agents: readonly RoutableAgent[]
  /** The turn that waits for completions. */
  open?: RoutedTurn
  /** Blocks routing. */
  loop?: FoundLoop
  /** The newest message of a person that no route was decided for. */
  waiting?: { version: number; content: string }
  /** The previous routing was interrupted. */
  isCutOff: boolean
}

export interface RoutableAgent {
  name: string
  purpose: string
  /** It runs outside of Colloquy, which only waits for its completion. */
  isOutside: boolean
}

export interface RoutedTurn {
  id: string
  /** Version of its start. */
  version: number
  /** Agents without a completion. */
  missing: readonly string[]
  instruction: string
}

interface FoundLoop {
  kind: string
  finding: string
  evidence: readonly number[]
}

export interface RoutedResult {
  outcome: 'completed' | 'failed' | 'stopped'
  message: string
}

/** The port through which the orchestrator reaches the rest of the product. Writes throw once its lease is lost. */
export interface OrchestratorPort {
  look(): Promise<Routing>
  recordStart(trigger: number): Promise<void>
  recordEnd(end: { outcome: RunOutcome; reason?: string; steps: number; usage: Usage }): Promise<void>
  /** Stores the model's text for the log only, not for agents. `upTo` marks the messages up to it as decided. */
  addNote(note: { text: string; usage?: Usage; problem?: string; upTo?: number }): Promise<void>
  /** @throws {RoutingBlocked} @throws {TurnOpen} @throws {PhaseRefused} */
  start(route: Extract<RouteDecision, { end: false }>): Promise<RoutedTurn>
  /** Stores the instruction for the agents of a turn, once. */
  assign(turn: RoutedTurn): Promise<void>
  /** Runs one agent of a turn, or resumes its interrupted run. Failures are in the result. */
  run(turn: RoutedTurn, agent: string, signal: AbortSignal): Promise<RoutedResult>
  /** Records an agent's completion, unless the turn is over. */
  complete(turn: RoutedTurn, agent: string, result: RoutedResult): Promise<void>
  /** Resolves with the outcome when the turn is over, also by a time-out. Undefined when the signal ended the wait. */
  over(turn: RoutedTurn, signal: AbortSignal): Promise<string | undefined>
}

interface OrchestratorInput {
  model: Parameters<typeof askForJson>[0]['model']
  signal: AbortSignal
  /** True when a text fits the model's budget. */
  fits(text: string): boolean
  onTurn?: (turn: RoutedTurn, route: { agents: readonly string[]; reason: string }) => void
}

export interface OrchestrationResult {
  /**
   * `ended`: the model found nothing left to do. `idle`: nothing was waiting. `busy`: another process routes here and will
   * see what waits. `blocked`: a loop was found. `stopped`: by its signal, or because its turn was undone.
   */
  outcome: 'ended' | 'idle' | 'busy' | 'blocked' | 'stopped' | 'failed'
  reason?: string
  loop?: FoundLoop
  /** Number of turns taken. */
  turns: number
  usage: Usage
}

interface Progress {
  steps: number
  turns: number
  usage: Usage
}

type RoutingEnd = Pick<OrchestrationResult, 'reason' | 'loop'> & { outcome: 'ended' | 'blocked' | 'stopped' | 'failed' }

/** Routes that are decided again because another process changed the conversation meanwhile. */
const maxConflicts = 3

export async function orchestrate(port: OrchestratorPort, input: OrchestratorInput): Promise<OrchestrationResult> {
  const progress: Progress = { steps: 0, turns: 0, usage: { input: 0, output: 0 } }
  const { loop, open, waiting, isCutOff, version } = await port.look()
  const { usage } = progress
  // A person has to clear the loop first.
  if (loop) return { outcome: 'blocked', reason: loop.finding, loop, turns: 0, usage }
  if (!open && !waiting && !isCutOff) return { outcome: 'idle', turns: 0, usage }
  await port.recordStart(waiting?.version ?? version)
  let end: RoutingEnd
  try {
    end = await routeUntilEnd(port, input, progress)
  } catch (error) {
    end = endAfterError(error, input)
  }
  const { outcome, reason } = end
  await port.recordEnd({
    outcome: runOutcome(end, input),
    ...(reason !== undefined && outcome !== 'ended' && { reason }),
    steps: progress.steps,
    usage: progress.usage,
  })
  return { ...end, turns: progress.turns, usage: progress.usage }
}

async function routeUntilEnd(
  port: OrchestratorPort,
  input: OrchestratorInput,
  progress: Progress,
): Promise<RoutingEnd> {
  let conflicts = 0
  for (;;) {
    if (input.signal.aborted) return { outcome: 'stopped', reason: 'it was stopped' }
    const routing = await port.look()
    if (routing.loop) return { outcome: 'blocked', reason: routing.loop.finding, loop: routing.loop }
    if (routing.open) {
      const outcome = await takeTurn(port, input, routing, routing.open)
      if (outcome === undefined) return { outcome: 'stopped', reason: 'it was stopped' }
      if (outcome === 'undone') return { outcome: 'stopped', reason: 'its turn was undone' }
      progress.turns++
      continue
    }
    const route = await decideRoute(port, input, routing, progress)
    if (!('end' in route)) return route
    if (route.end) {
      const { waiting } = await port.look()
      // A message arrived while the model answered.
      if (waiting && waiting.version > routing.version) continue
      return { outcome: 'ended', reason: route.reason }
    }
    try {
      const turn = await port.start(route)
      input.onTurn?.(turn, route)
    } catch (error) {
      const isConflict = error instanceof TurnOpen || error instanceof PhaseRefused
      if (!isConflict || ++conflicts > maxConflicts) throw error
    }
  }
}

/** Runs the missing agents of a turn, and waits until it is over. */
async function takeTurn(
  port: OrchestratorPort,
  { signal }: OrchestratorInput,
  { agents }: Routing,
  turn: RoutedTurn,
): Promise<string | undefined> {
  const isOver = new AbortController()
  const stopping = AbortSignal.any([signal, isOver.signal])
  const waiting = new AbortController()
  const over = port.over(turn, AbortSignal.any([signal, waiting.signal])).finally(() => isOver.abort())
  const outside = new Set(agents.filter(agent => agent.isOutside).map(agent => agent.name))
  try {
    await port.assign(turn)
    await Promise.all(
      turn.missing
        .filter(agent => !outside.has(agent))
        .map(async agent => {
          const result = await port.run(turn, agent, stopping)
          if (result.outcome !== 'stopped') await port.complete(turn, agent, result)
        }),
    )
  } catch (error) {
    waiting.abort()
    await over.catch(() => undefined)
    throw error
  }
  return over
}

async function decideRoute(
  port: OrchestratorPort,
  { model, signal, fits }: OrchestratorInput,
  routing: Routing,
  progress: Progress,
): Promise<RouteDecision | RoutingEnd> {
  const { phase, legalPhases, agents, version } = routing
  const text = routingText(stateOf(routing), fits)
  if (!fits(text)) return { outcome: 'failed', reason: "the conversation's state does not fit the budget of its model" }
  const choices = { phase, legalPhases, agents: agents.map(agent => agent.name) }
  let isEnd = false
  const answer = await askForJson<RouteDecision>({
    model,
    system: routingSystem({ hasPhases: phase !== null }),
    text,
    signal,
    read(value, reply) {
      const result = readRoute(value, reply, choices)
      isEnd = 'value' in result && result.value.end
      return result
    },
    async onAnswer(reply, problem) {
      progress.steps++
      const usage = reply.ok ? reply.usage : reply.failure.usage
      progress.usage = addUsage(progress.usage, usage)
      const isFinal = problem === undefined && isEnd
      await port.addNote({
        text: reply.text,
        ...(usage && { usage }),
        ...(problem !== undefined && { problem }),
        // Only END settles a message. After a crash before END, routing must continue.
        ...(isFinal && { upTo: version }),
      })
    },
  })
  if (answer.ok) return answer.value
  if (signal.aborted) return { outcome: 'stopped', reason: 'it was stopped' }
  return { outcome: 'failed', reason: answer.reason }
}

function stateOf({ context, phase, legalPhases, agents, waiting }: Routing): RoutingState {
  const newest = waiting?.content
  return {
    ...context,
    ...(newest !== undefined && newest !== context.user_request && { newest_request: newest }),
    ...(phase !== null && { phase, legal_phases: legalPhases }),
    agents: agents.map(({ name, purpose }) => ({ name, purpose })),
  }
}

function endAfterError(error: unknown, { signal }: OrchestratorInput): RoutingEnd {
  if (error instanceof RoutingBlocked) {
    const { kind, finding, evidence } = error
    return { outcome: 'blocked', reason: finding, loop: { kind, finding, evidence } }
  }
  if (error instanceof LeaseLost) return { outcome: 'stopped', reason: 'its lease was lost' }
  if (signal.aborted) return { outcome: 'stopped', reason: 'it was stopped' }
  return { outcome: 'failed', reason: error instanceof Error ? error.message : String(error) }
}

function runOutcome({ outcome, reason }: RoutingEnd, { signal }: OrchestratorInput): RunOutcome {
  if (outcome === 'ended') return 'done'
  if (outcome !== 'stopped') return 'failed'
  return reason === 'its lease was lost' && !signal.aborted ? 'superseded' : 'cancelled'
}
