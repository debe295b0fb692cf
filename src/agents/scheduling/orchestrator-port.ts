/** The port of the orchestrator: the conversation it routes on, and its own session, both under its leases. */
import { type ConversationAccess, conversationAccess } from '../../conversation/access/conversation-access.ts'
import type { KeptLease } from '../../conversation/access/renewed-lease.ts'
import type { Claim } from '../../conversation/turns/agent-views.ts'
import { turnWatch } from '../../conversation/turns/turn-watch.ts'
import { IllegalState } from '../../errors.ts'
import type { Decision } from '../../log/commands/decision.ts'
import { addToSession } from '../../log/commands/message.ts'
import { endRun, startRun } from '../../log/commands/run.ts'
import { acknowledge } from '../../log/commands/session.ts'
import type { Engine, WriteOptions } from '../../log/engine.ts'
import type { Message } from '../../log/views/message.ts'
import type { SessionHead } from '../../log/views/session.ts'
import type { OpenTurn } from '../../log/views/turns.ts'
import { windowOf } from '../../log/windows.ts'
import type { Model } from '../../models/model.ts'
import { descriptionFor } from '../../request/assembly/descriptions.ts'
import type { AgentSettings } from '../runs/agent-settings.ts'
import type { OrchestrationServices } from './orchestration-services.ts'
import {
  type OrchestratorPort,
  orchestratorName,
  type RoutableAgent,
  type RoutedResult,
  type RoutedTurn,
  type Routing,
} from './orchestrator.ts'
import { instructAgents, runRoutedAgent } from './routed-agent.ts'

/** A session of the orchestrator that is claimed, and the lease on routing. */
interface ClaimedRouting {
  head: SessionHead
  claim: Claim
  lease: KeptLease
  model: Model
  /** The agents of this call. Default: the project's. */
  agents: Readonly<Record<string, string>> | undefined
}

export class SessionOrchestratorPort implements OrchestratorPort {
  readonly #services: OrchestrationServices
  readonly #routing: ClaimedRouting
  readonly #access: ConversationAccess
  readonly #run: { sessionId: string; runId: string; agent: string }
  readonly #startedAt: number
  readonly #watch: ReturnType<typeof turnWatch>

  constructor(services: OrchestrationServices, routing: ClaimedRouting) {
    const { engine, scope, team } = services
    this.#services = services
    this.#routing = routing
    this.#access = conversationAccess(engine, { ...scope, actor: orchestratorName })
    this.#run = { sessionId: routing.head.id, runId: engine.newId(), agent: orchestratorName }
    this.#startedAt = engine.clock()
    this.#watch = turnWatch(this.#access, team.turns)
  }

  async look(): Promise<Routing> {
    const { engine, scope, team, settings } = this.#services
    const { id, conversationId } = this.#routing.head
    const [conversation, session] = await Promise.all([
      this.#access.head(conversationId),
      engine.store.session(scope.project, id),
    ])
    const { turns } = conversation.info
    const [context, phase, waiting, open] = await Promise.all([
      team.turns.routingContext(conversationId, {}),
      team.phases.current(conversationId),
      unroutedMessage(engine, session!),
      turns?.open && this.#routedTurn(turns.open),
    ])
    const { acknowledged = 0, run } = session!
    return {
      version: conversation.version,
      context,
      phase: phase.phase,
      legalPhases: phase.legal,
      agents: routableAgents(settings, this.#routing.agents),
      ...(open && { open }),
      ...(turns?.loop && { loop: turns.loop }),
      ...(waiting && { waiting: { version: waiting.version, content: waiting.content } }),
      isCutOff: run !== undefined && run.outcome !== 'done' && run.trigger > acknowledged,
    }
  }

  async recordStart(trigger: number): Promise<void> {
    const { head, model } = this.#routing
    const resumes = head.run && head.run.outcome !== 'done' ? { resumes: head.run.id } : {}
    await this.#write(startRun({ ...this.#run, model: model.name, trigger, ...resumes }), this.#fenced)
  }

  async recordEnd({ outcome, reason, steps, usage }: Parameters<OrchestratorPort['recordEnd']>[0]): Promise<void> {
    const durationMs = Math.max(0, this.#services.engine.clock() - this.#startedAt)
    const why = reason === undefined ? {} : { reason }
    await this.#write(endRun({ ...this.#run, outcome, ...why, steps, toolCalls: 0, usage, durationMs }))
  }

  async addNote({ text, usage, problem, upTo }: Parameters<OrchestratorPort['addNote']>[0]): Promise<void> {
    const { sessionId, runId } = this.#run
    const message = await this.#services.scribe.prepare({
      role: 'assistant',
      author: orchestratorName,
      content: text.trim() === '' ? '(nothing)' : text,
      internal: true,
      audience: { to: 'session', sessionId },
      ...(usage && { usage }),
      metadata: { run: runId, model: this.#routing.model.name, ...(problem !== undefined && { problem }) },
    })
    const add = addToSession(sessionId, message)
    const settle: Decision = upTo === undefined ? () => [] : acknowledge(sessionId, upTo)
    await this.#write((heads, now) => [...add(heads, now), ...settle(heads, now)], this.#fenced)
  }

  async start({ agents, phase, reason, instruction }: Parameters<OrchestratorPort['start']>[0]): Promise<RoutedTurn> {
    const { head, lease } = this.#routing
    const { id, version, missing } = await this.#services.team.turns.start(
      head.conversationId,
      {
        agents,
        ...(phase !== undefined && { phase }),
        reason,
        ...(instruction !== undefined && { instruction }),
        orchestrator: orchestratorName,
      },
      { fence: lease.fence },
    )
    return { id, version, missing, instruction: instruction ?? reason }
  }

  async assign(turn: RoutedTurn): Promise<void> {
    await this.#instruct(turn)
  }

  async run(turn: RoutedTurn, agent: string, signal: AbortSignal): Promise<RoutedResult> {
    return runRoutedAgent(this.#services, await this.#instruct(turn), agent, signal)
  }

  async complete({ id: turnId }: RoutedTurn, agent: string, { outcome, message }: RoutedResult): Promise<void> {
    const text = message.slice(0, 20_000).toWellFormed()
    const failed = outcome === 'failed' ? ({ outcome } as const) : {}
    const { conversationId } = this.#routing.head
    try {
      await this.#services.team.turns.complete(
        conversationId,
        { agent, message: text, turnId, ...failed },
        this.#fenced,
      )
    } catch (error) {
      // The turn timed out or was ended meanwhile. The agent's message is in the log.
      if (!(error instanceof IllegalState)) throw error
    }
  }

  over(turn: RoutedTurn, signal: AbortSignal): Promise<string | undefined> {
    return this.#watch(this.#routing.head.conversationId, turn.id, signal)
  }

  #instruct(turn: RoutedTurn): Promise<Message> {
    return instructAgents(this.#access, this.#services.scribe, this.#routing.head, turn, this.#fenced)
  }

  async #routedTurn({ id, version, agents, completions }: OpenTurn): Promise<RoutedTurn | undefined> {
    const started = await this.#access.eventAt(this.#routing.head.conversationId, version)
    if (started?.event.type !== 'turn.started') return undefined
    const { instruction, reason } = started.event
    const missing = agents.filter(agent => !completions.some(completion => completion.agent === agent))
    return { id, version, missing, instruction: instruction ?? reason }
  }

  get #fenced(): WriteOptions {
    return { fence: this.#routing.claim.fence }
  }

  #write(decide: Decision, options: WriteOptions = {}) {
    const { engine, scope } = this.#services
    const { id, conversationId } = this.#routing.head
    return engine.execute(
      { ...scope, actor: orchestratorName },
      { conversation: { id: conversationId }, session: { id }, decide, asked: [], options },
    )
  }
}

/** Returns the newest message to the team that the orchestrator has not decided on. */
export async function unroutedMessage({ store }: Engine, head: SessionHead): Promise<Message | undefined> {
  const window = { ...windowOf(head, ['talk']), start: head.acknowledged ?? 0, kept: [] }
  const messages = await store.messages(window, { limit: 200 })
  return messages.findLast(
    ({ role, addressees = [], content }) =>
      role === 'user' && content.trim() !== '' && (addressees.length === 0 || addressees.includes(orchestratorName)),
  )
}

function routableAgents({ orchestrator }: AgentSettings, override: ClaimedRouting['agents']): RoutableAgent[] {
  const outside = new Set(orchestrator.outside)
  const purposes = override ?? orchestrator.agents ?? builtInPurposes
  const names = [...new Set([...Object.keys(purposes), ...outside])]
  return names.map(name => ({ name, purpose: purposes[name] ?? '', isOutside: outside.has(name) }))
}

const builtInPurposes: Readonly<Record<string, string>> = Object.fromEntries(
  ['pm', 'dev', 'qa', 'merge'].map(type => [type, descriptionFor(type).role]),
)
