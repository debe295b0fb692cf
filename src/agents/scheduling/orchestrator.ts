/**
 * The orchestrator: an invisible router. It reads how things stand, asks a model who acts next, starts a turn, has the
 * agents of the turn run side by side, waits for their completions, and asks again, until the model says END.
 *
 * All its state is the log: a turn that is open is taken up where it stands, so that after a crash nothing is routed
 * twice. Routing that goes in circles is refused by the log itself; then it stops, and stays stopped until it is cleared.
 */

import { LeaseLost, PhaseRefused, RoutingBlocked, TurnOpen } from '../../errors.ts'
import type { Usage } from '../../log/events/message.ts'
import type { RunOutcome } from '../../log/events/run.ts'
import { addUsage } from '../../log/views/runs.ts'
import { askForJson } from '../runs/ask-json.ts'
import { type RouteDecision, readRoute } from './route.ts'
import { type RoutingContext, type RoutingState, routingSystem, routingText } from './routing-prompt.ts'

/** How a conversation stands for whoever routes on it. */
export interface Routing {
  version: number
  context: RoutingContext
  phase: string | null
  legalPhases: readonly string[]
  agents: readonly RoutableAgent[]
  /** The turn that waits for completions. */
  open?: RoutedTurn
  /** Routing is blocked. */
  loop?: FoundLoop
  /** What a person said that no route was decided for yet. */
  waiting?: { version: number; content: string }
  /** A routing before this one was cut off. */
  isCutOff: boolean
}

export interface RoutableAgent {
  name: string
  /** What it is for. */
  does: string
  /** Somebody else runs it; its completion is waited for. */
  isOutside: boolean
}

export interface RoutedTurn {
  id: string
  /** Version of its start. */
  version: number
  /** Whom it waits for. */
  missing: readonly string[]
  /** What they are asked to do. */
  instruction: string
}

export interface FoundLoop {
  kind: string
  finding: string
  evidence: readonly number[]
}

export interface RoutedResult {
  outcome: 'completed' | 'failed' | 'stopped'
  message: string
}

/** What an orchestrator may ask of the rest of the product. Writes hold its lease; once that is lost, they throw. */
export interface OrchestratorDesk {
  look(): Promise<Routing>
  started(trigger: number): Promise<void>
  ended(ending: { outcome: RunOutcome; reason?: string; steps: number; usage: Usage }): Promise<void>
  /** Keeps what the model said: for the log, and for no agent. With `upTo` everything until there is decided on. */
  note(said: { text: string; usage?: Usage; problem?: string; upTo?: number }): Promise<void>
  /** @throws {RoutingBlocked} @throws {TurnOpen} @throws {PhaseRefused} */
  start(route: Extract<RouteDecision, { end: false }>): Promise<RoutedTurn>
  /** Tells the agents of a turn what they are asked; once, however often it is called. */
  assign(turn: RoutedTurn): Promise<void>
  /** Runs one agent of a turn, or takes up where its run was cut off. What it does wrong is in the result. */
  run(turn: RoutedTurn, agent: string, signal: AbortSignal): Promise<RoutedResult>
  /** Records that an agent is done. Quiet when the turn is over already. */
  complete(turn: RoutedTurn, agent: string, result: RoutedResult): Promise<void>
  /** Resolves when the turn is over, and says how; by a time-out, too. Undefined when the signal ended the wait. */
  over(turn: RoutedTurn, signal: AbortSignal): Promise<string | undefined>
}

interface OrchestratorInput {
  model: Parameters<typeof askForJson>[0]['model']
  signal: AbortSignal
  /** Whether a state fits what the model may be sent. */
  fits(text: string): boolean
  onTurn?: (turn: RoutedTurn, route: { agents: readonly string[]; reason: string }) => void
}

export interface OrchestrationResult {
  /**
   * `ended`: the model says there is nothing left to do. `idle`: nothing waited. `busy`: somebody else routes here, and
   * will see what waits. `blocked`: routing went in circles; see `loop`. `stopped`: by its signal, or its turn was undone.
   */
  outcome: 'ended' | 'idle' | 'busy' | 'blocked' | 'stopped' | 'failed'
  reason?: string
  loop?: FoundLoop
  /** Turns that were taken. */
  turns: number
  usage: Usage
}

interface Progress {
  steps: number
  turns: number
  usage: Usage
}

type Way = Pick<OrchestrationResult, 'reason' | 'loop'> & { outcome: 'ended' | 'blocked' | 'stopped' | 'failed' }

/** How often a route is decided anew because somebody else changed something in between. */
const mostSurprises = 3

export async function orchestrate(desk: OrchestratorDesk, input: OrchestratorInput): Promise<OrchestrationResult> {
  const progress: Progress = { steps: 0, turns: 0, usage: { input: 0, output: 0 } }
  const { loop, open, waiting, isCutOff, version } = await desk.look()
  const { usage } = progress
  // Nothing is asked and nothing is written as long as somebody has to look at it.
  if (loop) return { outcome: 'blocked', reason: loop.finding, loop, turns: 0, usage }
  if (!open && !waiting && !isCutOff) return { outcome: 'idle', turns: 0, usage }
  await desk.started(waiting?.version ?? version)
  let way: Way
  try {
    way = await routed(desk, input, progress)
  } catch (error) {
    way = wayOf(error, input)
  }
  const { outcome, reason } = way
  await desk.ended({
    outcome: runOutcome(way, input),
    ...(reason !== undefined && outcome !== 'ended' && { reason }),
    steps: progress.steps,
    usage: progress.usage,
  })
  return { ...way, turns: progress.turns, usage: progress.usage }
}

async function routed(desk: OrchestratorDesk, input: OrchestratorInput, progress: Progress): Promise<Way> {
  let surprises = 0
  for (;;) {
    if (input.signal.aborted) return { outcome: 'stopped', reason: 'it was stopped' }
    const routing = await desk.look()
    if (routing.loop) return { outcome: 'blocked', reason: routing.loop.finding, loop: routing.loop }
    if (routing.open) {
      const outcome = await takeTurn(desk, input, routing, routing.open)
      if (outcome === undefined) return { outcome: 'stopped', reason: 'it was stopped' }
      if (outcome === 'undone') return { outcome: 'stopped', reason: 'its turn was undone' }
      progress.turns++
      continue
    }
    const decided = await decide(desk, input, routing, progress)
    if (!('end' in decided)) return decided
    if (decided.end) {
      const { waiting } = await desk.look()
      // What was said while the model thought is decided on, too.
      if (waiting && waiting.version > routing.version) continue
      return { outcome: 'ended', reason: decided.reason }
    }
    try {
      const turn = await desk.start(decided)
      input.onTurn?.(turn, decided)
    } catch (error) {
      const isSurprise = error instanceof TurnOpen || error instanceof PhaseRefused
      if (!isSurprise || ++surprises > mostSurprises) throw error
    }
  }
}

/** Runs who is missing in a turn, and waits until it is over. */
async function takeTurn(
  desk: OrchestratorDesk,
  { signal }: OrchestratorInput,
  { agents }: Routing,
  turn: RoutedTurn,
): Promise<string | undefined> {
  const isOver = new AbortController()
  const stopping = AbortSignal.any([signal, isOver.signal])
  const waiting = new AbortController()
  const over = desk.over(turn, AbortSignal.any([signal, waiting.signal])).finally(() => isOver.abort())
  const outside = new Set(agents.filter(agent => agent.isOutside).map(agent => agent.name))
  try {
    await desk.assign(turn)
    await Promise.all(
      turn.missing
        .filter(agent => !outside.has(agent))
        .map(async agent => {
          const result = await desk.run(turn, agent, stopping)
          if (result.outcome !== 'stopped') await desk.complete(turn, agent, result)
        }),
    )
  } catch (error) {
    waiting.abort()
    await over.catch(() => undefined)
    throw error
  }
  return over
}

async function decide(
  desk: OrchestratorDesk,
  { model, signal, fits }: OrchestratorInput,
  routing: Routing,
  progress: Progress,
): Promise<RouteDecision | Way> {
  const { phase, legalPhases, agents, version } = routing
  const text = routingText(stateOf(routing), fits)
  if (!fits(text)) return { outcome: 'failed', reason: 'how things stand does not fit the budget of its model' }
  const choices = { phase, legalPhases, agents: agents.map(agent => agent.name) }
  let isEnd = false
  const answer = await askForJson<RouteDecision>({
    model,
    system: routingSystem({ hasPhases: phase !== null }),
    text,
    signal,
    read(value, said) {
      const read = readRoute(value, said, choices)
      isEnd = 'value' in read && read.value.end
      return read
    },
    async onAnswer(said, problem) {
      progress.steps++
      const usage = said.ok ? said.usage : said.failure.usage
      progress.usage = addUsage(progress.usage, usage)
      const isDecided = problem === undefined && isEnd
      await desk.note({
        text: said.text,
        ...(usage && { usage }),
        ...(problem !== undefined && { problem }),
        // Before END there is more to decide on the same: a crash in between must not take it for settled.
        ...(isDecided && { upTo: version }),
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
    agents: agents.map(({ name, does }) => ({ name, does })),
  }
}

function wayOf(error: unknown, { signal }: OrchestratorInput): Way {
  if (error instanceof RoutingBlocked) {
    const { kind, finding, evidence } = error
    return { outcome: 'blocked', reason: finding, loop: { kind, finding, evidence } }
  }
  if (error instanceof LeaseLost) return { outcome: 'stopped', reason: 'its lease was lost' }
  if (signal.aborted) return { outcome: 'stopped', reason: 'it was stopped' }
  return { outcome: 'failed', reason: error instanceof Error ? error.message : String(error) }
}

function runOutcome({ outcome, reason }: Way, { signal }: OrchestratorInput): RunOutcome {
  if (outcome === 'ended') return 'done'
  if (outcome !== 'stopped') return 'failed'
  return reason === 'its lease was lost' && !signal.aborted ? 'superseded' : 'cancelled'
}
