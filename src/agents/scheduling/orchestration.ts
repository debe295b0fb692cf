/** Runs the orchestrator on a conversation: one at a time, under a lease, as a run of a session of its own. */

import { conversationAccess } from '../../conversation/access/conversation-access.ts'
import { type KeptLease, keepLease } from '../../conversation/access/renewed-lease.ts'
import { LeaseHeld } from '../../errors.ts'
import { addToConversation } from '../../log/commands/message.ts'
import type { MessageInput } from '../../log/commands/message-input.ts'
import type { ConversationHead } from '../../log/views/conversation.ts'
import type { SessionHead } from '../../log/views/session.ts'
import type { Model } from '../../models/model.ts'
import { budgetOf } from '../../request/assembly/settings.ts'
import type { OrchestrationServices } from './orchestration-services.ts'
import { type OrchestrationResult, orchestrate, orchestratorName } from './orchestrator.ts'
import { SessionOrchestratorPort, unroutedMessage } from './orchestrator-port.ts'
import { routingSystem } from './routing-prompt.ts'

export interface OrchestrateOptions {
  /** Added to the conversation before anything else. */
  message?: string | MessageInput
  /** The agents it may route to, with their purposes. Default: the project's, else the built-in agents. */
  agents?: Readonly<Record<string, string>>
  /** By name or opened. Default: as for any agent, of the type `orchestrator`. */
  model?: Model | string
  /** Stops it. An open turn stays open, and the next call continues it. */
  signal?: AbortSignal
  onTurn?: (turn: { id: string; agents: readonly string[]; reason: string }) => void
}

/**
 * Routes on a conversation until nothing is left to do. Only one process routes at a time: others get `busy`, and the one
 * that routes sees their messages.
 *
 * @throws {ModelMissing} when no model is named for it
 */
export async function runOrchestrator(
  services: OrchestrationServices,
  conversationId: string,
  options: OrchestrateOptions = {},
): Promise<OrchestrationResult> {
  const { engine, scope, scribe } = services
  const access = conversationAccess(engine, scope)
  if (options.message !== undefined) {
    const { message } = options
    const prepared = await scribe.prepare(typeof message === 'string' ? { role: 'user', content: message } : message)
    await access.execute(conversationId, { decide: addToConversation(conversationId, prepared), asked: [] })
  }
  let result: OrchestrationResult | undefined
  for (;;) {
    const conversation = await access.head(conversationId)
    const head = await services.views.join(conversation, orchestratorName, orchestratorName)
    const next = await routeUnderLeases(services, conversation, head, options)
    result = result === undefined ? next : combined(result, next)
    if (next.outcome !== 'ended' || options.signal?.aborted) return result
    // A message may have arrived after the last check, while other processes still saw the lease as held.
    const session = (await engine.store.session(scope.project, head.id))!
    if (!(await unroutedMessage(engine, session))) return result
  }
}

function combined(earlier: OrchestrationResult, later: OrchestrationResult): OrchestrationResult {
  const hasRouted = later.outcome !== 'idle' && later.outcome !== 'busy'
  return hasRouted ? { ...later, turns: earlier.turns + later.turns } : earlier
}

async function routeUnderLeases(
  services: OrchestrationServices,
  conversation: ConversationHead,
  head: SessionHead,
  options: OrchestrateOptions,
): Promise<OrchestrationResult> {
  const { engine, scope, settings, keeper, views } = services
  const model = await services.agents.model(orchestratorName, options.model)
  const busy: OrchestrationResult = { outcome: 'busy', turns: 0, usage: { input: 0, output: 0 } }
  const claim = await views.claim(conversation, { sessionId: head.id }, { forMs: settings.leaseMs }).catch(error => {
    if (error instanceof LeaseHeld) return undefined
    throw error
  })
  if (!claim) return busy
  let lease: KeptLease | undefined
  try {
    lease = await keepLease(engine, {
      project: scope.project,
      name: `routing ${conversation.info.id}`,
      holder: engine.newId(),
      forMs: settings.leaseMs,
    })
    if (!lease) return busy
    const kept = keeper.keep(head.id, claim, { leaseMs: settings.leaseMs, signal: options.signal })
    try {
      const port = new SessionOrchestratorPort(services, { head, claim, lease, model, agents: options.agents })
      return await orchestrate(port, {
        model,
        signal: AbortSignal.any([kept.signal, lease.lost]),
        fits: await budgetCheck(services, model),
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

/** Returns a check whether a text fits the model's budget. */
async function budgetCheck(
  { requests, estimator }: OrchestrationServices,
  { name }: Model,
): Promise<(text: string) => boolean> {
  const counter = await estimator()
  // Leaves room for one invalid answer and the problem with it.
  const reserve = counter.count(routingSystem({ hasPhases: true })) + 2_000
  const { budget } = budgetOf({ ...requests, model: name })
  return text => counter.count(text) + reserve <= budget
}
