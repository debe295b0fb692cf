/**
 * Runs agents by themselves: what a person says starts the agents it is addressed to, the agent of the session it was
 * said in, or else the project's default agent, or the orchestrator. However many processes look on, a lease lets one
 * answer. A routing whose process died is taken up by another.
 */

import type { Conversation } from '../../conversation/access/conversation.ts'
import { followed } from '../../conversation/access/follow-log.ts'
import { sharedUpdate } from '../../conversation/access/updates.ts'
import type { ConversationManager } from '../../conversation/lifecycle/conversation-manager.ts'
import { ColloquyError } from '../../errors.ts'
import type { Engine, Scope } from '../../log/engine.ts'
import type { Message } from '../../log/views/message.ts'
import { timerMs } from '../../timers.ts'
import type { AgentManager } from '../runs/agent-manager.ts'
import type { AgentSettings } from '../runs/agent-settings.ts'
import type { RunTarget } from '../runs/run-options.ts'
import { type OrchestrateOptions, orchestratorName } from './orchestrations.ts'

interface Watched {
  readonly conversations: Pick<ConversationManager, 'getConversation'>
  readonly agents: Pick<AgentManager, 'run'>
  orchestrate(conversationId: string, options: OrchestrateOptions): Promise<unknown>
}

/** Gives the way to end it: nothing is started any more, and what runs is left to whoever closes. */
export function autorun(
  colloquy: Watched,
  settings: Pick<AgentSettings, 'defaultAgent' | 'leaseMs'>,
  place: { engine: Engine; scope: Scope },
): () => Promise<void> {
  const stop = new AbortController()
  const { signal } = stop
  const watching = (async () => {
    for await (const event of followed(place.engine.store, place.scope.project, { signal })) {
      const update = sharedUpdate(event)
      if (update.action === 'message_added') await start(colloquy, update.message, settings, signal)
      // Somebody looked into a loop and let routing go on: it goes on with what it was at.
      else if (settings.defaultAgent === orchestratorName && update.event.event.type === 'loop.cleared')
        route(colloquy, update.conversationId, signal)
    }
  })().catch(() => undefined)
  const takingOver =
    settings.defaultAgent === orchestratorName ? takeOver(colloquy, place, settings, signal) : undefined
  return async () => {
    stop.abort()
    clearInterval(takingOver)
    await watching
  }
}

/** Looks for routings that nobody holds any more: now, and as often as a lease runs out. */
function takeOver(
  colloquy: Watched,
  { engine, scope }: { engine: Engine; scope: Scope },
  { leaseMs }: Pick<AgentSettings, 'leaseMs'>,
  signal: AbortSignal,
): NodeJS.Timeout {
  const { project } = scope
  const look = async () => {
    let cursor: string | undefined
    do {
      // Whatever is open has a time at which somebody should look after it, so these are all.
      const page = await engine.store.due(project, Number.MAX_SAFE_INTEGER, {
        limit: 100,
        ...(cursor !== undefined && { cursor }),
      })
      for (const { info } of page.items) {
        const routing = info.runs?.open.find(one => one.agent === orchestratorName)
        if (!routing || signal.aborted) continue
        const holder = await engine.store.holderOf({ project, name: `run ${routing.sessionId}` })
        if (!holder) route(colloquy, info.id, signal)
      }
      cursor = page.next
    } while (cursor !== undefined)
  }
  const quietly = () => {
    // The next look comes.
    look().catch(() => undefined)
  }
  quietly()
  return setInterval(quietly, timerMs(leaseMs)).unref()
}

function route({ orchestrate }: Watched, conversationId: string, signal: AbortSignal): void {
  orchestrate(conversationId, { signal }).catch(error => {
    if (!(error instanceof ColloquyError) && !signal.aborted) throw error
  })
}

async function start(
  colloquy: Watched,
  message: Message,
  { defaultAgent }: Pick<AgentSettings, 'defaultAgent'>,
  signal: AbortSignal,
): Promise<void> {
  const { conversations, agents } = colloquy
  if (message.role !== 'user' || message.internal || message.content.trim() === '') return
  const conversation = await conversations.getConversation(message.conversationId).catch(() => undefined)
  // Whoever delegates runs the other agent itself.
  if (conversation?.status !== 'active' || conversation.delegated) return
  for (const target of targetsOf(message, conversation, defaultAgent)) {
    if (typeof target !== 'string' && target.agent === orchestratorName) {
      route(colloquy, conversation.id, signal)
      continue
    }
    agents.run(target, { trigger: { messageId: message.id }, waits: true, signal }).catch(error => {
      // Answered by another, closed meanwhile, no model: the log or the next caller says so, and others go on.
      if (!(error instanceof ColloquyError) && !signal.aborted) throw error
    })
  }
}

function targetsOf(
  message: Message,
  { id: conversationId }: Conversation,
  defaultAgent: string | undefined,
): RunTarget[] {
  const { addressees = [], sessionId, author } = message
  const named = addressees.filter(agent => agent !== author)
  if (named.length > 0) return named.map(agent => ({ conversationId, agent }))
  if (sessionId !== undefined) return [sessionId]
  return defaultAgent === undefined ? [] : [{ conversationId, agent: defaultAgent }]
}
