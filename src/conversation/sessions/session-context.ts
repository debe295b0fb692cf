/** A session's context and its agent's description, each recorded when it changes. */
import { z } from 'zod'
import { parseInput } from '../../log/commands/input.ts'
import { jsonCopy } from '../../log/commands/json.ts'
import { describeSession, recordContext } from '../../log/commands/request.ts'
import type { Engine, Scope } from '../../log/engine.ts'
import { type ContextGathered, ContextLimits, SessionContext } from '../../log/events/context.ts'
import { AgentDescription } from '../../log/events/description.ts'
import type { WorkItem } from '../../log/events/work-item.ts'
import type { SessionHead } from '../../log/views/session.ts'
import { descriptionFor } from '../../request/assembly/descriptions.ts'
import { renderStableContext, renderVolatileContext } from '../../request/assembly/render-context.ts'
import type { ContextInputs } from '../../request/context/gather.ts'
import { contextGatherer } from '../../request/context/gatherer.ts'
import type { TokenEstimator } from '../../request/text/tokens.ts'
import type { SessionAccess, SessionHeads } from '../access/session-access.ts'

export interface SessionContexts {
  description(sessionId: string): Promise<AgentDescription>
  describe(sessionId: string, description: AgentDescription): Promise<AgentDescription>
  context(sessionId: string): Promise<SessionContext | undefined>
  /** Gathers the context and records it if it changed. A work item that was described overrides the caller's words. */
  update(sessionId: string, inputs: ContextInputs): Promise<SessionContext>
  /**
   * Gathers the context again from the same sources, and the state of the work item, before a request. Returns the heads
   * that the request is built from.
   */
  refresh(sessionId: string): Promise<SessionHeads>
}

const ContextInput = z.strictObject({
  root: z.string().optional(),
  ...SessionContext.pick({ feature: true, task: true, dagSummary: true }).shape,
  limits: ContextLimits.optional(),
})

/** Reads the description of a session's work item. Undefined for a thread, or an item without a description. */
export type WorkInputsReader = (
  engine: Engine,
  scope: Scope,
  item: WorkItem,
) => Promise<Pick<ContextInputs, 'feature' | 'task' | 'dagSummary'> | undefined>

export function sessionContexts(
  access: SessionAccess,
  estimator: () => TokenEstimator | Promise<TokenEstimator>,
  workInputs: WorkInputsReader,
): SessionContexts {
  const gatherer = contextGatherer()

  const recordedIn = (head: SessionHead) => access.eventAt(head, head.contextAt, 'context.gathered')

  async function description(sessionId: string): Promise<AgentDescription> {
    const head = await access.head(sessionId)
    const event = await access.eventAt(head, head.describedAt, 'session.described')
    return event?.description ?? descriptionFor(head.agentType)
  }

  async function update(sessionId: string, input: ContextInputs): Promise<SessionContext> {
    const checked = parseInput(ContextInput, input)
    const head = await access.head(sessionId)
    const work = await workInputs(access.engine, access.scope, head.workItem)
    return (await gather(head, await recordedIn(head), { ...checked, ...work })).context
  }

  /** Gathers a context and records it if it differs from the recorded one. */
  async function gather(head: SessionHead, recorded: ContextGathered | undefined, inputs: ContextInputs) {
    const { context, fingerprint, changed } = await gatherer.gather(inputs, recorded)
    if (!changed) return { context }
    const counter = await estimator()
    const limits = inputs.limits && (jsonCopy(inputs.limits, 'limits') as ContextLimits)
    const tokens = {
      stable: counter.count(renderStableContext(context)),
      volatile: counter.count(renderVolatileContext(context)),
    }
    const { session, conversation } = await access.execute(
      head,
      recordContext(head.id, context, fingerprint, { tokens, limits }),
    )
    return { context, recordedHeads: session && { session, conversation } }
  }

  return {
    description,
    update,
    async describe(sessionId, input) {
      const checked = parseInput(AgentDescription, input)
      if (JSON.stringify(await description(sessionId)) !== JSON.stringify(checked)) {
        await access.execute(await access.head(sessionId), describeSession(sessionId, checked))
      }
      return checked
    },
    async context(sessionId) {
      return (await recordedIn(await access.head(sessionId)))?.context
    },
    async refresh(sessionId) {
      const session = await access.markedHead(sessionId)
      const [conversation, recorded, work] = await Promise.all([
        access.conversationOf(session),
        recordedIn(session),
        workInputs(access.engine, access.scope, session.workItem),
      ])
      const heads = { session, conversation }
      if (!recorded && !work) return heads
      const { project, feature, task, dagSummary } = recorded?.context ?? { project: {} }
      const { recordedHeads } = await gather(session, recorded, {
        ...(project.root !== undefined && { root: project.root }),
        ...(feature && { feature }),
        ...(task && { task }),
        ...(dagSummary !== undefined && { dagSummary }),
        ...(recorded?.limits && { limits: recorded.limits as ContextInputs['limits'] }),
        ...work,
      })
      return recordedHeads ?? heads
    },
  }
}
