/** Runs the orchestrator on a conversation: one at a time, under a lease, as a run of a session of its own. Thin. */

import { conversationAccess } from '../../conversation/access/conversation-access.ts'
import { recordedMessage, type Scribe } from '../../conversation/access/prepare-message.ts'
import { type KeptLease, keepLease } from '../../conversation/access/renewed-lease.ts'
import type { AgentViews, Claim } from '../../conversation/turns/agent-views.ts'
import type { Team } from '../../conversation/turns/team-parts.ts'
import { turnWatch } from '../../conversation/turns/turn-watch.ts'
import { AlreadyAnswered, ColloquyError, IllegalState, LeaseHeld } from '../../errors.ts'
import type { Decision } from '../../log/commands/decision.ts'
import { addToConversation, addToSession } from '../../log/commands/message.ts'
import type { MessageInput } from '../../log/commands/message-input.ts'
import { endRun, startRun } from '../../log/commands/run.ts'
import { acknowledge } from '../../log/commands/session.ts'
import type { Engine, Scope, WriteOptions } from '../../log/engine.ts'
import type { ConversationHead } from '../../log/views/conversation.ts'
import type { Message } from '../../log/views/message.ts'
import type { SessionHead } from '../../log/views/session.ts'
import type { OpenTurn } from '../../log/views/turns.ts'
import { windowOf } from '../../log/windows.ts'
import type { Model } from '../../models/model.ts'
import { descriptionFor } from '../../request/assembly/descriptions.ts'
import { budgetOf, type RequestSettings } from '../../request/assembly/settings.ts'
import type { TokenEstimator } from '../../request/text/tokens.ts'
import type { AgentManager } from '../runs/agent-manager.ts'
import type { AgentSettings } from '../runs/agent-settings.ts'
import type { RunKeeper } from '../runs/run-keeper.ts'
import {
  type OrchestrationResult,
  type OrchestratorDesk,
  orchestrate,
  type RoutableAgent,
  type RoutedResult,
  type RoutedTurn,
  type Routing,
} from './orchestrator.ts'
import { routingSystem } from './routing-prompt.ts'

export interface OrchestrateOptions {
  /** Said to the conversation first, and stored before anything else. */
  message?: string | MessageInput
  /** Whom it may route to, and what each is for. Default: what the project says, else the built-in agents. */
  agents?: Readonly<Record<string, string>>
  /** By name or opened. Default: as for any agent, of the type `orchestrator`. */
  model?: Model | string
  /** Stops it: a turn that is open stays open, and the next one goes on with it. */
  signal?: AbortSignal
  onTurn?: (turn: { id: string; agents: readonly string[]; reason: string }) => void
}

/** The agent's name and type, and who waits in `defaultAgent` where it answers what is addressed to nobody. */
export const orchestratorName = 'orchestrator'

/** A run that another run took over is looked at again this often, then it failed. */
const mostTries = 5

interface OrchestrationParts {
  engine: Engine
  scope: Scope
  scribe: Scribe
  views: AgentViews
  team: Team
  agents: AgentManager
  settings: AgentSettings
  requests: RequestSettings
  estimator: () => TokenEstimator | Promise<TokenEstimator>
  keeper: RunKeeper
}

/**
 * Routes on a conversation until there is nothing left to do. However many processes try, one routes: for the others it
 * is `busy`, and what they were called for is seen by the one that routes.
 *
 * @throws {ModelMissing} when no model is named for it
 */
export async function runOrchestrator(
  parts: OrchestrationParts,
  conversationId: string,
  options: OrchestrateOptions = {},
): Promise<OrchestrationResult> {
  const { engine, scope, scribe } = parts
  const access = conversationAccess(engine, scope)
  if (options.message !== undefined) {
    const { message } = options
    const placed = await scribe.prepare(typeof message === 'string' ? { role: 'user', content: message } : message)
    await access.execute(conversationId, { decide: addToConversation(conversationId, placed), asked: [] })
  }
  let result: OrchestrationResult | undefined
  for (;;) {
    const conversation = await access.head(conversationId)
    const head = await parts.views.join(conversation, orchestratorName, orchestratorName)
    const again = await underLeases(parts, conversation, head, options)
    result = result === undefined ? again : together(result, again)
    if (again.outcome !== 'ended' || options.signal?.aborted) return result
    // Said between the last look and giving the lease back: whoever saw it then found somebody at it.
    if (!(await waitingFor(engine, (await engine.store.session(scope.project, head.id))!))) return result
  }
}

function together(one: OrchestrationResult, other: OrchestrationResult): OrchestrationResult {
  const isMore = other.outcome !== 'idle' && other.outcome !== 'busy'
  return isMore ? { ...other, turns: one.turns + other.turns } : one
}

async function underLeases(
  parts: OrchestrationParts,
  conversation: ConversationHead,
  head: SessionHead,
  options: OrchestrateOptions,
): Promise<OrchestrationResult> {
  const { engine, scope, settings, keeper } = parts
  const model = await parts.agents.model(orchestratorName, options.model)
  const busy: OrchestrationResult = { outcome: 'busy', turns: 0, usage: { input: 0, output: 0 } }
  const { id: conversationId } = conversation.info
  const claim = await parts.views
    .claim(conversation, { sessionId: head.id }, { forMs: settings.leaseMs })
    .catch(error => {
      if (error instanceof LeaseHeld) return undefined
      throw error
    })
  if (!claim) return busy
  let lease: KeptLease | undefined
  try {
    lease = await keepLease(engine, {
      project: scope.project,
      name: `routing ${conversationId}`,
      holder: engine.newId(),
      forMs: settings.leaseMs,
    })
    if (!lease) return busy
    const kept = keeper.keep(head.id, claim, { leaseMs: settings.leaseMs, signal: options.signal })
    try {
      const desk = orchestratorDesk(parts, { head, claim, lease, model, options })
      const fits = await fitting(parts, model)
      return await orchestrate(desk, {
        model,
        signal: AbortSignal.any([kept.signal, lease.lost]),
        fits,
        onTurn: ({ id }, { agents, reason }) => options.onTurn?.({ id, agents, reason }),
      })
    } finally {
      kept.end()
    }
  } finally {
    await lease?.release()
    await claim.release()
  }
}

async function fitting(
  { requests, estimator }: OrchestrationParts,
  { name }: Model,
): Promise<(text: string) => boolean> {
  const counter = await estimator()
  // Room for one answer that cannot be used, and for what is wrong with it.
  const spare = counter.count(routingSystem({ hasPhases: true })) + 2_000
  const { budget } = budgetOf({ ...requests, model: name })
  return text => counter.count(text) + spare <= budget
}

/** What a person said to the team that the orchestrator has not decided on. */
async function waitingFor({ store }: Engine, head: SessionHead): Promise<Message | undefined> {
  const window = { ...windowOf(head, ['talk']), start: head.acknowledged ?? 0, kept: [] }
  const messages = await store.messages(window, { limit: 200 })
  return messages.findLast(
    ({ role, addressees = [], content }) =>
      role === 'user' && content.trim() !== '' && (addressees.length === 0 || addressees.includes(orchestratorName)),
  )
}

function orchestratorDesk(
  { engine, scope, scribe, team, agents, settings }: OrchestrationParts,
  {
    head,
    claim,
    lease,
    model,
    options,
  }: { head: SessionHead; claim: Claim; lease: KeptLease; model: Model; options: OrchestrateOptions },
): OrchestratorDesk {
  const { store } = engine
  const { project } = scope
  const { id: sessionId, conversationId } = head
  const runId = engine.newId()
  const startedAt = engine.clock()
  const access = conversationAccess(engine, { ...scope, actor: orchestratorName })
  const run = { sessionId, runId, agent: orchestratorName }
  const fenced: WriteOptions = { fence: claim.fence }
  const watch = turnWatch(access, team.turns)

  const write = (decide: Decision, options: WriteOptions = {}) =>
    engine.execute(
      { ...scope, actor: orchestratorName },
      { conversation: { id: conversationId }, session: { id: sessionId }, decide, asked: [], options },
    )

  /** Told once per turn, by its key: to the agents of the turn alone, and in no chat. */
  async function instruct({ id: turnId, instruction, version }: RoutedTurn): Promise<Message> {
    const started = await access.eventAt(conversationId, version)
    const to = started?.event.type === 'turn.started' ? started.event.agents : []
    // A turn that was open where a branch begins goes on in both.
    const isInherited = head.branchOf !== undefined && version <= head.branchOf.version
    const placed = await scribe.prepare({
      role: 'user',
      author: orchestratorName,
      content: instruction,
      internal: true,
      addressees: to,
      audience: { to: 'agents', agents: to },
      metadata: { turn: turnId },
    })
    const appended = await access.execute(conversationId, {
      decide: addToConversation(conversationId, placed),
      asked: ['instruct', turnId],
      options: {
        ...fenced,
        idempotencyKey: `instruction of turn ${turnId}${isInherited ? ` in ${conversationId}` : ''}`,
      },
    })
    return recordedMessage(appended)
  }

  /** What the agent said after it was instructed: its newest words. */
  async function answerAfter(agent: string, message: Message): Promise<string> {
    const { info } = await access.head(conversationId)
    const { items } = await store.sessions({ project, conversationId: info.id, agentName: agent, limit: 1 })
    if (!items[0]) return ''
    const window = { ...windowOf(items[0]), start: message.version, kept: [] }
    const said = await store.messages(window, { limit: 200 })
    return said.findLast(one => one.role === 'assistant' && one.author === agent && one.content !== '')?.content ?? ''
  }

  return {
    async look() {
      const [conversation, session] = await Promise.all([
        access.head(conversationId),
        store.session(project, sessionId),
      ])
      const { turns } = conversation.info
      const [context, phase, waiting, open] = await Promise.all([
        team.turns.routingContext(conversationId, {}),
        team.phases.current(conversationId),
        waitingFor(engine, session!),
        turns?.open && openTurn(turns.open),
      ])
      const { acknowledged = 0, run: before } = session!
      return {
        version: conversation.version,
        context,
        phase: phase.phase,
        legalPhases: phase.legal,
        agents: routable(settings, options.agents),
        ...(open && { open }),
        ...(turns?.loop && { loop: turns.loop }),
        ...(waiting && { waiting: { version: waiting.version, content: waiting.content } }),
        isCutOff: before !== undefined && before.outcome !== 'done' && before.trigger > acknowledged,
      } satisfies Routing
    },
    async started(trigger) {
      const resumes = head.run && head.run.outcome !== 'done' ? head.run.id : undefined
      await write(startRun({ ...run, model: model.name, trigger, ...(resumes !== undefined && { resumes }) }), fenced)
    },
    async ended({ outcome, reason, steps, usage }) {
      const durationMs = Math.max(0, engine.clock() - startedAt)
      const ending = { outcome, ...(reason !== undefined && { reason }), steps, toolCalls: 0, usage, durationMs }
      await write(endRun({ ...run, ...ending }))
    },
    async note({ text, usage, problem, upTo }) {
      const decided = upTo === undefined ? undefined : acknowledge(sessionId, upTo)
      const placed = await scribe.prepare({
        role: 'assistant',
        author: orchestratorName,
        content: text.trim() === '' ? '(nothing)' : text,
        internal: true,
        audience: { to: 'session', sessionId },
        ...(usage && { usage }),
        metadata: { run: runId, model: model.name, ...(problem !== undefined && { problem }) },
      })
      const add = addToSession(sessionId, placed)
      await write((heads, now) => [...add(heads, now), ...(decided?.(heads, now) ?? [])], fenced)
    },
    async start({ agents, phase, reason, instruction }) {
      const turn = await team.turns.start(
        conversationId,
        {
          agents,
          ...(phase !== undefined && { phase }),
          reason,
          ...(instruction !== undefined && { instruction }),
          orchestrator: orchestratorName,
        },
        { fence: lease.fence },
      )
      return { id: turn.id, version: turn.version, missing: turn.missing, instruction: instruction ?? reason }
    },
    async assign(turn) {
      await instruct(turn)
    },
    async run(turn, agent, signal) {
      const message = await instruct(turn)
      for (let attempt = 1; ; attempt++) {
        const result = await oneRun(message, agent, signal)
        if (result !== 'again') return result
        if (attempt === mostTries) return { outcome: 'failed', message: 'Other runs took its place again and again.' }
      }
    },
    async complete(turn, agent, { outcome, message }) {
      const completion = { agent, message: message.slice(0, 20_000).toWellFormed(), turnId: turn.id }
      const isFailed = outcome === 'failed'
      try {
        await team.turns.complete(conversationId, isFailed ? { ...completion, outcome: 'failed' } : completion, fenced)
      } catch (error) {
        // It waited too long, or somebody ended it: what the agent said stands in its message.
        if (!(error instanceof IllegalState)) throw error
      }
    },
    over: (turn, signal) => watch(conversationId, turn.id, signal),
  }

  async function openTurn({ id, version, agents, completions }: OpenTurn): Promise<RoutedTurn | undefined> {
    const started = await access.eventAt(conversationId, version)
    if (started?.event.type !== 'turn.started') return undefined
    const { instruction, reason } = started.event
    const missing = agents.filter(agent => !completions.some(one => one.agent === agent))
    return { id, version, missing, instruction: instruction ?? reason }
  }

  async function oneRun(message: Message, agent: string, signal: AbortSignal): Promise<RoutedResult | 'again'> {
    try {
      const trigger = { messageId: message.id }
      const done = await agents.run({ conversationId, agent }, { trigger, waits: true, signal })
      if (done.outcome === 'done') return { outcome: 'completed', message: done.completed ?? done.text }
      if (signal.aborted) return { outcome: 'stopped', message: '' }
      if (done.outcome === 'superseded') return 'again'
      return { outcome: 'failed', message: done.reason ?? done.outcome }
    } catch (error) {
      if (error instanceof AlreadyAnswered) return { outcome: 'completed', message: await answerAfter(agent, message) }
      if (signal.aborted) return { outcome: 'stopped', message: '' }
      if (!(error instanceof ColloquyError)) throw error
      return { outcome: 'failed', message: error.message }
    }
  }
}

function routable({ orchestrator }: AgentSettings, asked: OrchestrateOptions['agents']): RoutableAgent[] {
  const outside = new Set(orchestrator.outside)
  const named = asked ?? orchestrator.agents ?? builtIn
  const names = [...new Set([...Object.keys(named), ...outside])]
  return names.map(name => ({ name, does: named[name] ?? '', isOutside: outside.has(name) }))
}

const builtIn: Readonly<Record<string, string>> = Object.fromEntries(
  ['pm', 'dev', 'qa', 'merge'].map(type => [type, descriptionFor(type).role]),
)
