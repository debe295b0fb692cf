/** Who a session's agent is and what it works on: recorded when it changes. */
import { z } from 'zod'
import { parseInput } from '../../log/commands/input.ts'
import { jsonCopy } from '../../log/commands/json.ts'
import { describeSession, recordContext } from '../../log/commands/request.ts'
import type { Engine, Scope } from '../../log/engine.ts'
import { ContextLimits, SessionContext } from '../../log/events/context.ts'
import { AgentDescription } from '../../log/events/description.ts'
import type { WorkItem } from '../../log/events/work-item.ts'
import type { SessionHead } from '../../log/views/session.ts'
import { descriptionFor } from '../../request/assembly/descriptions.ts'
import { renderStableContext, renderVolatileContext } from '../../request/assembly/render-context.ts'
import type { ContextInputs } from '../../request/context/gather.ts'
import { contextGatherer } from '../../request/context/gatherer.ts'
import type { TokenEstimator } from '../../request/text/tokens.ts'
import type { SessionAccess } from '../access/session-access.ts'

export interface SessionContexts {
  description(sessionId: string): Promise<AgentDescription>
  describe(sessionId: string, description: AgentDescription): Promise<AgentDescription>
  context(sessionId: string): Promise<SessionContext | undefined>
  /** Gathers the context anew and records it if it changed. What a work item is, it says itself. */
  update(sessionId: string, inputs: ContextInputs): Promise<SessionContext>
  /** Gathers again what the last context was gathered from, and how the work stands; if nothing changed, at little cost. */
  refresh(sessionId: string): Promise<void>
}

const GivenContext = z.strictObject({
  root: z.string().optional(),
  ...SessionContext.pick({ feature: true, task: true, dagSummary: true }).shape,
  limits: ContextLimits.optional(),
})

/** Reads what the work item of a session says of itself; undefined for a thread or an item nobody described. */
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

  async function update(sessionId: string, given: ContextInputs): Promise<SessionContext> {
    const checked = parseInput(GivenContext, given)
    const head = await access.head(sessionId)
    return gathered(head, { ...checked, ...(await workInputs(access.engine, access.scope, head.workItem)) })
  }

  async function gathered(head: SessionHead, inputs: ContextInputs): Promise<SessionContext> {
    const { context, fingerprint, changed } = await gatherer.gather(inputs, await recordedIn(head))
    if (changed) {
      const counter = await estimator()
      const limits = inputs.limits && (jsonCopy(inputs.limits, 'limits') as ContextLimits)
      const tokens = {
        stable: counter.count(renderStableContext(context)),
        volatile: counter.count(renderVolatileContext(context)),
      }
      await access.execute(head, recordContext(head.id, context, fingerprint, { tokens, limits }))
    }
    return context
  }

  return {
    description,
    update,
    async describe(sessionId, wanted) {
      const checked = parseInput(AgentDescription, wanted)
      const known = await description(sessionId)
      if (JSON.stringify(known) !== JSON.stringify(checked)) {
        await access.execute(await access.head(sessionId), describeSession(sessionId, checked))
      }
      return checked
    },
    async context(sessionId) {
      return (await recordedIn(await access.head(sessionId)))?.context
    },
    async refresh(sessionId) {
      const head = await access.head(sessionId)
      const [recorded, work] = await Promise.all([
        recordedIn(head),
        workInputs(access.engine, access.scope, head.workItem),
      ])
      if (!recorded && !work) return
      const { project, feature, task, dagSummary } = recorded?.context ?? { project: {} }
      await gathered(head, {
        ...(project.root !== undefined && { root: project.root }),
        ...(feature && { feature }),
        ...(task && { task }),
        ...(dagSummary !== undefined && { dagSummary }),
        ...(recorded?.limits && { limits: recorded.limits as ContextInputs['limits'] }),
        ...work,
      })
    },
  }
}
