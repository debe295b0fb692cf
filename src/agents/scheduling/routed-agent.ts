/** Instructs the agents of a turn, and runs them on the instruction. */
import type { ConversationAccess } from '../../conversation/access/conversation-access.ts'
import { recordedMessage, type Scribe } from '../../conversation/access/prepare-message.ts'
import { AlreadyAnswered, ColloquyError } from '../../errors.ts'
import { addToConversation } from '../../log/commands/message.ts'
import type { WriteOptions } from '../../log/engine.ts'
import type { Message } from '../../log/views/message.ts'
import type { SessionHead } from '../../log/views/session.ts'
import { windowOf } from '../../log/windows.ts'
import type { OrchestrationServices } from './orchestration-services.ts'
import { orchestratorName, type RoutedResult, type RoutedTurn } from './orchestrator.ts'

/** Attempts of a run whose place other runs take. */
const maxAttempts = 5

/** Stores the instruction of a turn once. Only the agents of the turn see it, and no chat shows it. */
export async function instructAgents(
  access: ConversationAccess,
  scribe: Scribe,
  { conversationId, branchOf }: SessionHead,
  { id: turnId, instruction, version }: RoutedTurn,
  fenced: WriteOptions,
): Promise<Message> {
  const started = await access.eventAt(conversationId, version)
  const agents = started?.event.type === 'turn.started' ? started.event.agents : []
  // A turn that is open where a branch starts continues in both conversations.
  const isInherited = branchOf !== undefined && version <= branchOf.version
  const message = await scribe.prepare({
    role: 'user',
    author: orchestratorName,
    content: instruction,
    internal: true,
    addressees: agents,
    audience: { to: 'agents', agents },
    metadata: { turn: turnId },
  })
  const idempotencyKey = `instruction of turn ${turnId}${isInherited ? ` in ${conversationId}` : ''}`
  const appended = await access.execute(conversationId, {
    decide: addToConversation(conversationId, message),
    asked: ['instruct', turnId],
    options: { ...fenced, idempotencyKey },
  })
  return recordedMessage(appended)
}

/** Runs an agent until it has answered the instruction. Failures are in the result. */
export async function runRoutedAgent(
  services: OrchestrationServices,
  instruction: Message,
  agent: string,
  signal: AbortSignal,
): Promise<RoutedResult> {
  for (let attempt = 1; attempt <= maxAttempts; attempt++) {
    const result = await attemptRun(services, instruction, agent, signal)
    if (result !== 'superseded') return result
  }
  return { outcome: 'failed', message: `Other runs took its place ${maxAttempts} times.` }
}

async function attemptRun(
  services: OrchestrationServices,
  instruction: Message,
  agent: string,
  signal: AbortSignal,
): Promise<RoutedResult | 'superseded'> {
  const { conversationId, id: messageId } = instruction
  try {
    const options = { trigger: { messageId }, waits: true, signal }
    const { outcome, completed, text, reason } = await services.agents.run({ conversationId, agent }, options)
    if (outcome === 'done') return { outcome: 'completed', message: completed ?? text }
    if (signal.aborted) return { outcome: 'stopped', message: '' }
    return outcome === 'superseded' ? 'superseded' : { outcome: 'failed', message: reason ?? outcome }
  } catch (error) {
    if (error instanceof AlreadyAnswered)
      return { outcome: 'completed', message: await answerAfter(services, instruction, agent) }
    if (signal.aborted) return { outcome: 'stopped', message: '' }
    if (!(error instanceof ColloquyError)) throw error
    return { outcome: 'failed', message: error.message }
  }
}

/** Returns the newest text of the agent after the instruction. */
async function answerAfter(
  { engine: { store }, scope: { project } }: OrchestrationServices,
  { conversationId, version }: Message,
  agent: string,
): Promise<string> {
  const { items } = await store.sessions({ project, conversationId, agentName: agent, limit: 1 })
  if (!items[0]) return ''
  const messages = await store.messages({ ...windowOf(items[0]), start: version, kept: [] }, { limit: 200 })
  const answer = messages.findLast(
    ({ role, author, content }) => role === 'assistant' && author === agent && content !== '',
  )
  return answer?.content ?? ''
}
