/**
 * Requests of a session. Each goes through four stages: load (all reads), render (sections as text), fit (into the
 * budget), and, unless it is a preview, record (its manifest).
 */
import { z } from 'zod'
import { BudgetTooSmall } from '../../errors.ts'
import { parseInput } from '../../log/commands/input.ts'
import type { Engine, Scope } from '../../log/engine.ts'
import type { Model } from '../../models/model.ts'
import { type FittedRequest, fitRequest } from '../../request/assembly/fitted-request.ts'
import type { RequestInputs } from '../../request/assembly/inputs.ts'
import { renderSections, sectionCounter } from '../../request/assembly/rendered-sections.ts'
import type { RequestOptions, RequestSettings, RequestTrigger } from '../../request/assembly/settings.ts'
import type { ComputedSections } from '../../request/compaction/computed-sections.ts'
import type { TokenEstimator } from '../../request/text/tokens.ts'
import { sessionAccess } from '../access/session-access.ts'
import { type AgentRequest, agentRequest } from './agent-request.ts'
import { type SessionCheckpoints, sessionCheckpoints } from './checkpoints.ts'
import { type Keep, sessionCompaction } from './compaction.ts'
import type { CompactOutcome } from './compaction-run.ts'
import { type LoadOptions, loadInputs, type RequestHeads } from './request-inputs.ts'
import { recordManifest } from './request-manifest.ts'
import { type SessionContexts, sessionContexts, type WorkInputsReader } from './session-context.ts'
import { metricsOf, type SessionMetrics } from './session-metrics.ts'

export interface CompactOptions {
  /** Tokens of the newest messages that stay as they are, or their number. Default: a tenth of the budget. */
  keep?: Keep
  /** The budget of a request, of which the checkpoint may take a share. Default: that of the session's requests. */
  budget?: number
}

export interface SessionRequests {
  build(sessionId: string, trigger: RequestTrigger, options?: LoadOptions): Promise<AgentRequest>
  preview(sessionId: string, trigger: RequestTrigger, options?: RequestOptions): Promise<AgentRequest>
  /** A preview from heads that the caller made: those of an earlier version, or of an agent without a session. */
  previewOf(heads: RequestHeads, trigger: RequestTrigger, options?: RequestOptions): Promise<AgentRequest>
  forceCompact(sessionId: string, options?: CompactOptions): Promise<CompactOutcome>
  metrics(sessionId: string): Promise<SessionMetrics>
  readonly checkpoints: SessionCheckpoints
  readonly contexts: SessionContexts
}

const CompactInput = z.strictObject({
  keep: z
    .union([z.strictObject({ tokens: z.int().nonnegative() }), z.strictObject({ messages: z.int().nonnegative() })])
    .optional(),
  budget: z.int().positive().optional(),
})

export function sessionRequests({
  engine,
  scope,
  settings,
  model,
  estimator,
  computed,
  workInputs,
}: {
  engine: Engine
  scope: Scope
  settings: RequestSettings
  model: Model | undefined
  estimator: () => TokenEstimator | Promise<TokenEstimator>
  computed: ComputedSections
  workInputs: WorkInputsReader
}): SessionRequests {
  const access = sessionAccess(engine, scope)
  const contexts = sessionContexts(access, estimator, workInputs)
  const compaction = sessionCompaction({ access, model, estimator, computed })
  const countSection = sectionCounter()

  /**
   * Loads, renders and fits. Without `mayOmit`, a request of the checkpoint strategy that is too large reports that it
   * overflows and leaves no messages out, unless the session is latched.
   */
  async function assemble(
    heads: RequestHeads,
    trigger: RequestTrigger,
    options: LoadOptions,
    { mayOmit }: { mayOmit: boolean },
  ): Promise<FittedRequest> {
    const counter = await estimator()
    const render = (inputs: RequestInputs) =>
      renderSections(inputs, { computed, estimator: counter, count: text => countSection(text, counter) })
    const fitted = (inputs: RequestInputs) => fitRequest(render(inputs), { estimator: counter, mayOmit })
    return fitted(await loadInputs({ engine, project: settings, heads, trigger, options, draft: fitted }))
  }

  /** Runs the four stages, and compacts the session between them if it is due. */
  async function build(sessionId: string, trigger: RequestTrigger, options: LoadOptions): Promise<AgentRequest> {
    let heads = await contexts.refresh(sessionId)
    let request = await assemble(heads, trigger, options, { mayOmit: false })
    const reason = compaction.dueFor(request)
    if (reason) {
      await compaction.run(request, reason)
      heads = await access.heads(sessionId)
      request = await assemble(heads, trigger, options, { mayOmit: false })
    }
    // The compaction did not make enough room: messages are left out, and the request says how many.
    if (request.packed.overflows) request = await assemble(heads, trigger, options, { mayOmit: true })
    await recordManifest(access, request)
    compaction.inBackground(request)
    return agentRequest(request)
  }

  async function previewOf(
    heads: RequestHeads,
    trigger: RequestTrigger,
    options: RequestOptions = {},
  ): Promise<AgentRequest> {
    const request = await assemble(heads, trigger, options, { mayOmit: true })
    if (compaction.dueFor(request)) request.ledger.notes.push('older messages would be compacted before it is sent')
    return agentRequest(request)
  }

  /**
   * Assembles the request that a compaction starts from. Where not even the fixed sections fit, it is assembled with a
   * larger budget; the compaction then works with the real one.
   */
  async function forCompaction(heads: RequestHeads, options: RequestOptions): Promise<FittedRequest> {
    try {
      return await assemble(heads, '', options, { mayOmit: true })
    } catch (error) {
      if (!(error instanceof BudgetTooSmall)) throw error
      const { needed, budget } = error.facts as { needed: number; budget: number }
      const request = await assemble(heads, '', { ...options, budget: needed * 2 }, { mayOmit: true })
      return { ...request, inputs: { ...request.inputs, budget } }
    }
  }

  return {
    contexts,
    checkpoints: sessionCheckpoints(access),

    async metrics(sessionId) {
      const heads = await access.heads(sessionId)
      return metricsOf(access, await assemble(heads, '', { recall: false }, { mayOmit: false }))
    },

    preview: async (sessionId, trigger, options) => previewOf(await access.heads(sessionId), trigger, options),
    previewOf,

    async build(sessionId, trigger, options = {}) {
      const { traced } = engine
      if (!traced) return build(sessionId, trigger, options)
      const attributes = { 'colloquy.project': scope.project, 'colloquy.session': sessionId }
      return traced('colloquy.assemble', attributes, async note => {
        const request = await build(sessionId, trigger, options)
        const { strategy, budget, totalTokens, omitted } = request
        note({
          'colloquy.strategy': strategy,
          'colloquy.budget': budget,
          'colloquy.tokens': totalTokens,
          'colloquy.omitted': omitted,
        })
        return request
      })
    },

    async forceCompact(sessionId, input = {}) {
      const { keep, budget } = parseInput(CompactInput, input)
      const options = { recall: false, ...(budget !== undefined && { budget }) }
      const session = await access.markedHead(sessionId)
      const heads = { session, conversation: await access.conversationOf(session) }
      return compaction.run(await forCompaction(heads, options), 'forced', keep)
    },
  }
}
