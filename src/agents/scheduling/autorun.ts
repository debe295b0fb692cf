/**
 * Starts agents when a person's message arrives: its addressees, the agent of its session, or else the project's default
 * agent or orchestrator. Of several processes, a lease lets one answer. A routing whose process died is resumed.
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
import type { OrchestrateOptions } from './orchestration.ts'
import { orchestratorName } from './orchestrator.ts'

interface AutorunPort {
  readonly conversations: Pick<ConversationManager, 'getConversation'>
  readonly agents: Pick<AgentManager, 'run'>
  orchestrate(conversationId: string, options: OrchestrateOptions): Promise<unknown>
}

/** Returns a function that ends it: nothing more is started, and running agents are left to the caller. */
export function autorun(
  colloquy: AutorunPort,
  settings: Pick<AgentSettings, 'defaultAgent' | 'leaseMs'>,
  project: { engine: Engine; scope: Scope },
): () => Promise<void> {
  const stop = new AbortController()
  const { signal } = stop
  const watching = (async () => {
    for await (const event of followed(project.engine.store, project.scope.project, { signal })) {
      const update = sharedUpdate(event)
      if (update.action === 'message_added') await start(colloquy, update.message, settings, signal)
      // A person cleared a loop, so routing continues.
      else if (settings.defaultAgent === orchestratorName && update.event.event.type === 'loop.cleared')
        route(colloquy, update.conversationId, signal)
    }
  })().catch(() => undefined)
  const timer =
    settings.defaultAgent === orchestratorName ? resumeDeadRoutings(colloquy, project, settings, signal) : undefined
  return async () => {
    stop.abort()
    clearInterval(timer)
    await watching
  }
}

/** Finds routings whose lease ran out: now, and once per lease duration. */
function resumeDeadRoutings(
  colloquy: AutorunPort,
  { engine, scope }: { engine: Engine; scope: Scope },
  { leaseMs }: Pick<AgentSettings, 'leaseMs'>,
  signal: AbortSignal,
): NodeJS.Timeout {
  const { project } = scope
  const check = async () => {
    let cursor: string | undefined
    do {
      // Every open run has a due time, so this list contains them all.
      const page = await engine.store.due(project, Number.MAX_SAFE_INTEGER, {
        limit: 100,
        ...(cursor !== undefined && { cursor }),
      })
      for (const { info } of page.items) {
        const routing = info.runs?.open.find(({ agent }) => agent === orchestratorName)
        if (!routing || signal.aborted) continue
        const holder = await engine.store.holderOf({ project, name: `run ${routing.sessionId}` })
        if (!holder) route(colloquy, info.id, signal)
      }
      cursor = page.next
    } while (cursor !== undefined)
  }
  const checkQuietly = () => {
    // A failed check is repeated by the timer.
    check().catch(() => undefined)
  }
  checkQuietly()
  return setInterval(checkQuietly, timerMs(leaseMs)).unref()
}

function route({ orchestrate }: AutorunPort, conversationId: string, signal: AbortSignal): void {
  orchestrate(conversationId, { signal }).catch(error => {
    if (!(error instanceof ColloquyError) && !signal.aborted) throw error
  })
}

async function start(
  colloquy: AutorunPort,
  message: Message,
  { defaultAgent }: Pick<AgentSettings, 'defaultAgent'>,
  signal: AbortSignal,
): Promise<void> {
  const { conversations, agents } = colloquy
  if (message.role !== 'user' || message.internal || message.content.trim() === '') return
  const conversation = await conversations.getConversation(message.conversationId).catch(() => undefined)
  // The run that delegates runs the other agent.
  if (conversation?.status !== 'active' || conversation.delegated) return
  for (const target of targetsOf(message, conversation, defaultAgent)) {
    if (typeof target !== 'string' && target.agent === orchestratorName) {
      route(colloquy, conversation.id, signal)
      continue
    }
    agents.run(target, { trigger: { messageId: message.id }, waits: true, signal }).catch(error => {
      // Expected refusals, such as a message answered by another process, or a missing model.
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
  const others = addressees.filter(agent => agent !== author)
  if (others.length > 0) return others.map(agent => ({ conversationId, agent }))
  if (sessionId !== undefined) return [sessionId]
  return defaultAgent === undefined ? [] : [{ conversationId, agent: defaultAgent }]
}
