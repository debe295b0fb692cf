/**
 * Has an agent work on a bead: in its session, which goes on where it was or is new if it expired. The first time it is
 * told what the bead is, later to continue; a run that was cut off is taken up where it stood.
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

/** Who speaks to agents in a person's place. */
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
    if (job.item.type !== 'bead') throw new Error(`${job.item.type} is no bead`)
    const { agent, title } = job
    const { id } = await sessions.getOrCreateSession({ type: 'bead', beadId: job.item.beadId, agentType: agent, title })
    const head = (await store.session(project, id))!
    const said: Said = {}
    try {
      const trigger = await triggerOf(job, head)
      const result = await agents.run(id, {
        ...(trigger && { trigger: { messageId: trigger.id } }),
        waits: true,
        signal,
        priority: 'background',
        tools: toolsFor(said),
      })
      return { ...(await doneOf(job, result, said)), sessionId: id }
    } catch (error) {
      if (error instanceof AlreadyAnswered)
        return { outcome: 'continues', text: await newestWords(head), sessionId: id }
      if (error instanceof ModelMissing) return { outcome: 'parked', reason: error.message, sessionId: id }
      if (signal.aborted) return { outcome: 'stopped', reason: 'it was stopped', sessionId: id }
      throw error
    }
  }

  /** What it is to answer. Undefined: what its last run was cut off at. */
  async function triggerOf(job: Job, head: SessionHead): Promise<Message | undefined> {
    const isCutOff = head.run !== undefined && head.run.outcome !== 'done'
    if (isCutOff && job.message === undefined) return undefined
    const window = windowOf(head)
    const fresh = await store.messages({ ...window, start: Math.max(head.windowStart, head.acknowledged ?? 0) }, latest)
    // Said by one that died before its agent was run.
    const waiting = fresh.findLast(one => one.author === dispatcherName && one.role === 'user')
    if (waiting && job.message === undefined) return waiting
    const [any] = await store.messages(window, { limit: 1 })
    const content = any ? continued(job) : await introduced(job)
    return sessions.addMessage(
      head.id,
      { role: 'user', author: dispatcherName, content, metadata: { dispatch: job.dispatchId } },
      { idempotencyKey: `dispatch ${job.dispatchId}` },
    )
  }

  async function introduced({ item, title, message }: Job): Promise<string> {
    const beadId = item.type === 'bead' ? item.beadId : ''
    const bead = await work.getBead(beadId)
    const before = await Promise.all(
      bead.dependencies.map(id => work.getBead(id).catch(() => undefined)), // one that is gone has left nothing
    )
    const results = before.flatMap(one =>
      one?.result ? [`- ${one.title}: ${one.result.summary.slice(0, 2_000)}`] : [],
    )
    return [
      `Bead ${beadId}: ${title}`,
      ...(bead.description ? [bead.description] : []),
      ...(results.length > 0 ? [`What it depends on is done:\n${results.join('\n')}`] : []),
      ...(message === undefined ? [] : [`It was handed to you:\n${message}`]),
      howToEnd,
    ].join('\n\n')
  }

  /** A model that has no tools of ours cannot say that it is done: its answer is all there is. */
  async function doneOf({ agent }: Job, result: RunResult, { next, parked }: Said): Promise<WorkDone> {
    const { outcome, completed, text, reason = outcome } = result
    if (outcome === 'cancelled' || outcome === 'superseded') return { outcome: 'stopped', reason }
    if (outcome !== 'done') return { outcome: 'failed', reason }
    if (parked !== undefined) return { outcome: 'parked', reason: parked, text }
    if (next) return { outcome: 'continues', next, text: `${next.agent}: ${next.message}` }
    if (completed !== undefined) return { outcome: 'done', summary: completed, text: completed }
    if ((await agents.model(agent)).takesTools) return { outcome: 'continues', text }
    return { outcome: 'done', summary: text, text }
  }

  async function newestWords(head: SessionHead): Promise<string> {
    const messages = await store.messages(windowOf(head, ['talk']), latest)
    return messages.findLast(one => one.role === 'assistant')?.content ?? ''
  }
}

const latest = { limit: 50 }

const howToEnd =
  'When it is done, call complete with what came of it. If another agent must go on with it, call hand_on. If it cannot be done without a person, call park and say why. If you stop without any of these, you will be asked to continue.'

function continued({ message }: Job): string {
  return message === undefined
    ? `Continue with it. ${howToEnd}`
    : `It was handed back to you:\n${message}\n\n${howToEnd}`
}

/** What the agent's calls said. */
interface Said {
  next?: { agent: string; message: string }
  parked?: string
}

function toolsFor(said: Said): Tool[] {
  return [
    tool({
      name: 'hand_on',
      description: 'Hands this work to another agent, which goes on with it. Your part ends here.',
      input: z.strictObject({
        to: z.string().min(1).max(200).describe("the agent's name, such as dev or qa"),
        message: z.string().min(1).max(20_000).describe('what it needs to know: it does not see what you said'),
      }),
      async run({ to, message }) {
        said.next = { agent: to, message }
        return { text: `Handed on to ${to}.`, ends: true }
      },
    }),
    tool({
      name: 'park',
      description: 'Puts this work aside until a person has looked at it. Your part ends here.',
      input: z.strictObject({ reason: z.string().min(1).max(20_000).describe('what a person has to know or do') }),
      async run({ reason }) {
        said.parked = reason
        return { text: 'Put aside.', ends: true }
      },
    }),
  ]
}
