/** Requests of a session: built, previewed, compacted when they have to be. Its parts do one thing each. */
import type { CompactOutcome } from '../agent/compact.ts'
import { recordRequest } from '../commands/request.ts'
import type { ComputedSections } from '../compaction/computed.ts'
import type { Engine, Scope } from '../engine.ts'
import type { Model } from '../models/model.ts'
import type { TokenEstimator } from '../request/tokens.ts'
import type { ConversationInfo } from '../views/conversation.ts'
import type { SessionHead } from '../views/session.ts'
import { type AgentRequest, agentRequest, type RequestOptions } from './agent-request.ts'
import { materialGatherer } from './material.ts'
import { manifestOf } from './request-manifest.ts'
import { type Asked, requestPacking } from './request-packing.ts'
import type { RequestSettings } from './request-settings.ts'
import { sessionAccess } from './session-access.ts'
import { type SessionCheckpoints, sessionCheckpoints } from './session-checkpoints.ts'
import { sessionCompaction } from './session-compaction.ts'
import { type SessionContexts, sessionContexts } from './session-context.ts'
import { metricsOf, type SessionMetrics } from './session-metrics.ts'

export interface SessionRequests {
  build(sessionId: string, message: Asked, options?: RequestOptions): Promise<AgentRequest>
  preview(sessionId: string, message: Asked, options?: RequestOptions): Promise<AgentRequest>
  /** The same for a head that is not in the store as it stands: of another time, or of an agent without a session. */
  previewOf(
    head: SessionHead,
    message: Asked,
    options?: RequestOptions,
    conversation?: ConversationInfo,
  ): Promise<AgentRequest>
  forceCompact(sessionId: string): Promise<CompactOutcome>
  metrics(sessionId: string): Promise<SessionMetrics>
  readonly checkpoints: SessionCheckpoints
  readonly contexts: SessionContexts
}

export function sessionRequests({
  engine,
  scope,
  settings,
  model,
  estimator,
  computed,
}: {
  engine: Engine
  scope: Scope
  settings: RequestSettings
  model: Model | undefined
  estimator: () => TokenEstimator | Promise<TokenEstimator>
  computed: ComputedSections
}): SessionRequests {
  const access = sessionAccess(engine, scope)
  const contexts = sessionContexts(access, estimator)
  const packing = requestPacking({ settings, estimator, material: materialGatherer(engine, estimator, computed) })
  const compaction = sessionCompaction({ access, settings, model, estimator, computed })

  async function previewOf(
    of: SessionHead,
    message: Asked,
    options: RequestOptions = {},
    conversation?: ConversationInfo,
  ): Promise<AgentRequest> {
    const { packed, strategy, head } = await packing.pack(of, message, options, true, conversation)
    return agentRequest(head, strategy, packed)
  }

  return {
    contexts,
    checkpoints: sessionCheckpoints(access),
    metrics: sessionId => metricsOf(sessionId, { access, packing, settings }),

    preview: async (sessionId, message, options) => previewOf(await access.head(sessionId), message, options),
    previewOf,

    async build(sessionId, message, options = {}) {
      await contexts.refresh(sessionId)
      let made = await packing.pack(await access.head(sessionId), message, options, false)
      if (compaction.isDue(made)) {
        await compaction.run(made.head, made.gathered, made.budget, made.packed.overflows ? 'overflow' : 'trigger')
        made = await packing.pack(await access.head(sessionId), message, options, false)
      }
      // Whatever the compaction did, the request fits: what is left out then is counted and said.
      if (made.packed.overflows) made = await packing.pack(made.head, message, options, true)
      const { head, strategy, packed } = made
      const manifest = manifestOf({
        head,
        requestId: engine.newId(),
        strategy,
        packed,
        settings,
        asOf: options.asOf,
      })
      await access.execute(head, recordRequest(manifest))
      compaction.inBackground(made)
      return agentRequest(head, strategy, packed)
    },

    async forceCompact(sessionId) {
      const head = await access.head(sessionId)
      const gathered = await packing.gather(head, '', { recall: false })
      return compaction.run(head, gathered, packing.budget({}), 'forced')
    },
  }
}
