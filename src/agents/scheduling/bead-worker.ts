/**
 * Runs an agent on a bead, in the agent's session for it. The first message describes the bead, later ones ask the agent
 * to continue. An interrupted run is resumed.
 */
import { z } from 'zod'
import type { SessionManager } from '../../conversation/sessions/session-manager.ts'
import type { WorkManager } from '../../conversation/work/work-manager.ts'
import { AlreadyAnswered, ModelMissing } from '../../errors.ts'
import type { Engine, Scope } from '../../log/engine.ts'
import type { Message } from '../../log/views/message.ts'
import type { SessionHead } from '../../log/views/session.ts'
import { windowOf } from '../../log/windows.ts'
import type { AgentManager } from '../runs/agent-manager.ts'
import type { RunResult } from '../runs/run.ts'
import { type Tool, tool } from '../tools/tool.ts'
import type { Job, WorkDone, Worker } from './worker.ts'

/** Author of the messages that agents get in a person's place. */
const dispatcherName = 'dispatcher'

export function beadWorker({
  engine,
  scope,
  work,
  sessions,
  agents,
}: {
  engine: Engine
  scope: Scope
  work: WorkManager
  sessions: SessionManager
  agents: AgentManager
}): Worker {
  const { store } = engine
  const { project } = scope

  return async (job, signal) => {
    if (job.item.type !== 'bead') throw new Error(`The bead worker got a ${job.item.type}.`)
    const { agent, title } = job
    const { id } = await sessions.getOrCreateSession({ type: 'bead', beadId: job.item.beadId, agentType: agent, title })
    const head = (await store.session(project, id))!
    const decision: Decision = {}
    try {
      const trigger = await triggerOf(job, head)
      const result = await agents.run(id, {
        ...(trigger && { trigger: { messageId: trigger.id } }),
        waits: true,
        signal,
        priority: 'background',
        tools: toolsFor(decision),
      })
      return { ...(await resultOf(job, result, decision)), sessionId: id }
    } catch (error) {
      if (error instanceof AlreadyAnswered) return { outcome: 'continues', text: await newestText(head), sessionId: id }
      if (error instanceof ModelMissing) return { outcome: 'parked', reason: error.message, sessionId: id }
      if (signal.aborted) return { outcome: 'stopped', reason: 'it was stopped', sessionId: id }
      throw error
    }
  }

  /** Returns the message to answer; undefined for that of the interrupted run. */
  async function triggerOf(job: Job, head: SessionHead): Promise<Message | undefined> {
    const isCutOff = head.run !== undefined && head.run.outcome !== 'done'
    if (isCutOff && job.message === undefined) return undefined
    const window = windowOf(head)
    const start = Math.max(head.windowStart, head.acknowledged ?? 0)
    const unread = await store.messages({ ...window, start }, latest)
    // Stored by a dispatcher that died before the agent ran.
    const unanswered = unread.findLast(({ author, role }) => author === dispatcherName && role === 'user')
    if (unanswered && job.message === undefined) return unanswered
    const hasMessages = (await store.messages(window, { limit: 1 })).length > 0
    const content = hasMessages ? continuation(job) : await introduction(job)
    return sessions.addMessage(
      head.id,
      { role: 'user', author: dispatcherName, content, metadata: { dispatch: job.dispatchId } },
      { idempotencyKey: `dispatch ${job.dispatchId}` },
    )
  }

  async function introduction({ item, title, message }: Job): Promise<string> {
    const beadId = item.type === 'bead' ? item.beadId : ''
    const bead = await work.getBead(beadId)
    // A purged dependency has no result.
    const dependencies = await Promise.all(bead.dependencies.map(id => work.getBead(id).catch(() => undefined)))
    const results = dependencies.flatMap(dependency =>
      dependency?.result ? [`- ${dependency.title}: ${dependency.result.summary.slice(0, 2_000)}`] : [],
    )
    return [
      `Bead ${beadId}: ${title}`,
      ...(bead.description ? [bead.description] : []),
      ...(results.length > 0 ? [`Results of the beads it depends on:\n${results.join('\n')}`] : []),
      ...(message === undefined ? [] : [`It was handed over to you:\n${message}`]),
      endInstruction,
    ].join('\n\n')
  }

  /** A model without tools cannot call complete, so its answer is the result. */
  async function resultOf({ agent }: Job, result: RunResult, { next, parked }: Decision): Promise<WorkDone> {
    const { outcome, completed, text, reason = outcome } = result
    if (outcome === 'cancelled' || outcome === 'superseded') return { outcome: 'stopped', reason }
    if (outcome !== 'done') return { outcome: 'failed', reason }
    if (parked !== undefined) return { outcome: 'parked', reason: parked, text }
    if (next) return { outcome: 'continues', next, text: `${next.agent}: ${next.message}` }
    if (completed !== undefined) return { outcome: 'done', summary: completed, text: completed }
    if ((await agents.model(agent)).takesTools) return { outcome: 'continues', text }
    return { outcome: 'done', summary: text, text }
  }

  async function newestText(head: SessionHead): Promise<string> {
    const messages = await store.messages(windowOf(head, ['talk']), latest)
    return messages.findLast(({ role }) => role === 'assistant')?.content ?? ''
  }
}

const latest = { limit: 50 }

const endInstruction =
  'When it is done, call complete with the result. If another agent must continue, call hand_on. If it needs a person, call park with the reason. If you stop without any of these, you will be asked to continue.'

function continuation({ message }: Job): string {
  return message === undefined
    ? `Continue with it. ${endInstruction}`
    : `It was handed back to you:\n${message}\n\n${endInstruction}`
}

/** The agent's decision, from the tools below. */
interface Decision {
  next?: { agent: string; message: string }
  parked?: string
}

function toolsFor(decision: Decision): Tool[] {
  return [
    tool({
      name: 'hand_on',
      description: 'Hands this work over to another agent. It ends your run.',
      input: z.strictObject({
        to: z.string().min(1).max(200).describe("the agent's name, such as dev or qa"),
        message: z.string().min(1).max(20_000).describe('everything it needs to know: it does not see your messages'),
      }),
      async run({ to, message }) {
        decision.next = { agent: to, message }
        return { text: `Handed over to ${to}.`, ends: true }
      },
    }),
    tool({
      name: 'park',
      description: 'Parks this work until a person has looked at it. It ends your run.',
      input: z.strictObject({ reason: z.string().min(1).max(20_000).describe('what the person must know or do') }),
      async run({ reason }) {
        decision.parked = reason
        return { text: 'Parked.', ends: true }
      },
    }),
  ]
}
