/** Requests of a session: built, previewed, compacted when they have to be. Its parts do one thing each. */
import { z } from 'zod'
import { BudgetTooSmall } from '../../errors.ts'
import { parseInput } from '../../log/commands/input.ts'
import { recordRequest } from '../../log/commands/request.ts'
import type { Engine, Scope } from '../../log/engine.ts'
import type { SessionHead } from '../../log/views/session.ts'
import type { Model } from '../../models/model.ts'
import type { ComputedSections } from '../../request/compaction/computed-sections.ts'
import type { TokenEstimator } from '../../request/text/tokens.ts'
import type { PastHeads } from '../access/heads-at.ts'
import { sessionAccess } from '../access/session-access.ts'
import { type AgentRequest, agentRequest } from './agent-request.ts'
import { type SessionCheckpoints, sessionCheckpoints } from './checkpoints.ts'
import { type Keep, sessionCompaction } from './compaction.ts'
import type { CompactOutcome } from './compaction-run.ts'
import { materialGatherer } from './request-input.ts'
import { manifestOf } from './request-manifest.ts'
import { type Asked, type PackedRequest, type PackingOptions, requestPacking } from './request-packing.ts'
import type { RequestOptions, RequestSettings } from './request-settings.ts'
import { type SessionContexts, sessionContexts, type WorkInputsReader } from './session-context.ts'
import { metricsOf, type SessionMetrics } from './session-metrics.ts'

export interface CompactOptions {
  /** So many tokens of the newest messages stay as they are, or so many messages. Default: a tenth of the budget. */
  keep?: Keep
  /** As in a request: what share of it a checkpoint may take. */
  budget?: number
}

export interface SessionRequests {
  build(sessionId: string, message: Asked, options?: PackingOptions): Promise<AgentRequest>
  preview(sessionId: string, message: Asked, options?: RequestOptions): Promise<AgentRequest>
  /** The same for a head that is not in the store as it stands: of another time, or of an agent without a session. */
  previewOf(head: SessionHead, message: Asked, options?: RequestOptions, then?: PastHeads): Promise<AgentRequest>
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
  const packing = requestPacking({
    access,
    project: settings,
    estimator,
    material: materialGatherer(engine, estimator, computed),
  })
  const compaction = sessionCompaction({ access, model, estimator, computed })

  /** For compacting: what is too large to be sent is all the more to be compacted. */
  async function packedAnyway(head: SessionHead, options: RequestOptions): Promise<PackedRequest> {
    try {
      return await packing.pack(head, '', options, true)
    } catch (error) {
      if (!(error instanceof BudgetTooSmall)) throw error
      const { needed, budget } = error.facts as { needed: number; budget: number }
      return { ...(await packing.pack(head, '', { ...options, budget: needed * 2 }, true)), budget }
    }
  }

  async function previewOf(
    head: SessionHead,
    message: Asked,
    options: RequestOptions = {},
    then?: PastHeads,
  ): Promise<AgentRequest> {
    const made = await packing.pack(head, message, options, true, then)
    if (compaction.dueFor(made)) made.ledger.notes.push('older messages would be compacted before it is sent')
    return agentRequest(made)
  }

  async function built(sessionId: string, message: Asked, options: PackingOptions): Promise<AgentRequest> {
    await access.markedHead(sessionId)
    await contexts.refresh(sessionId)
    let made = await packing.pack(await access.head(sessionId), message, options, false)
    const reason = compaction.dueFor(made)
    if (reason) {
      await compaction.run(made, reason)
      made = await packing.pack(await access.head(sessionId), message, options, false)
    }
    // Whatever the compaction did, the request fits: what is left out then is counted and said.
    if (made.packed.overflows) made = await packing.pack(made.head, message, options, true)
    await access.execute(made.head, recordRequest(manifestOf({ made, requestId: engine.newId() })))
    compaction.inBackground(made)
    return agentRequest(made)
  }

  return {
    contexts,
    checkpoints: sessionCheckpoints(access),
    metrics: sessionId => metricsOf(sessionId, access, packing),

    preview: async (sessionId, message, options) => previewOf(await access.head(sessionId), message, options),
    previewOf,

    async build(sessionId, message, options = {}) {
      const { traced } = engine
      if (!traced) return built(sessionId, message, options)
      const attributes = { 'colloquy.project': scope.project, 'colloquy.session': sessionId }
      return traced('colloquy.assemble', attributes, async note => {
        const request = await built(sessionId, message, options)
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

    async forceCompact(sessionId, asked = {}) {
      const { keep, budget } = parseInput(CompactInput, asked)
      const options = { recall: false, ...(budget !== undefined && { budget }) }
      return compaction.run(await packedAnyway(await access.markedHead(sessionId), options), 'forced', keep)
    },
  }
}
