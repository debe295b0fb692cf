/** From a session and a message to a packed request: what is gathered, inside which budget, with which quotes. */
import { requestBudget } from '../request/budget.ts'
import { modelLimits } from '../request/models.ts'
import { type Packed, type PackOptions, pack } from '../request/pack.ts'
import type { Strategy } from '../request/strategy.ts'
import type { TokenEstimator } from '../request/tokens.ts'
import type { ConversationInfo } from '../views/conversation.ts'
import type { SessionHead } from '../views/session.ts'
import type { RequestOptions } from './agent-request.ts'
import type { Gathered, materialGatherer } from './material.ts'
import type { RequestSettings } from './request-settings.ts'

/** What a request is for: a text, or a stored message. */
export type Asked = string | { messageId: string }

export interface PackedRequest {
  head: SessionHead
  packed: Packed
  gathered: Gathered
  strategy: Strategy
  budget: number
}

export interface RequestPacking {
  /** `mayOmit` false keeps the checkpoint strategy from leaving anything out before its latch. */
  pack(
    head: SessionHead,
    message: Asked,
    options: RequestOptions,
    mayOmit: boolean,
    /** How the conversation stands, if not as it does now. */
    conversation?: ConversationInfo,
  ): Promise<PackedRequest>
  gather(head: SessionHead, message: Asked, options: RequestOptions): Promise<Gathered>
  budget(options: RequestOptions): number
}

export function requestPacking({
  settings,
  estimator,
  material,
}: {
  settings: RequestSettings
  estimator: () => TokenEstimator | Promise<TokenEstimator>
  material: ReturnType<typeof materialGatherer>
}): RequestPacking {
  function budgetOf({ budget = settings.budget, strategy = settings.strategy }: RequestOptions): number {
    const { contextWindow, outputLimit } = modelLimits(settings.model ?? '')
    const { buffer } = settings
    const outputReserve = Math.min(settings.outputReserve, outputLimit)
    // Seed 003 keeps a fifth of the model's limit free.
    const window = strategy.name === 'sliding_window' ? Math.floor(contextWindow * 0.8) + outputReserve : contextWindow
    return requestBudget({ configured: budget, contextWindow: window, outputReserve, buffer })
  }

  function gather(
    head: SessionHead,
    trigger: Asked,
    options: RequestOptions,
    conversation?: ConversationInfo,
  ): Promise<Gathered> {
    const strategy = options.strategy ?? settings.strategy
    const { asOf } = options
    const budget = budgetOf({ ...options, strategy })
    return material.gather({
      head,
      trigger,
      strategy,
      budget,
      ...(asOf !== undefined && { end: asOf }),
      ...(conversation && { conversation }),
    })
  }

  /** Only what is not in the request can be worth quoting; so it is packed once to see what that is. */
  async function withRecall(
    packed: Packed,
    gathered: Gathered,
    packing: PackOptions,
    options: RequestOptions,
  ): Promise<Packed> {
    const isPartial = packed.omitted.messages > 0 || packed.checkpoint !== undefined
    if (!(options.recall ?? settings.recall) || !isPartial || packed.overflows) return packed
    const first = packed.history[0]?.version ?? packed.trigger.version
    const quotes = await gathered.recallBefore(first ?? Number.MAX_SAFE_INTEGER)
    return quotes.length === 0 ? packed : pack({ ...gathered.material, recall: quotes }, packing)
  }

  return {
    gather,
    budget: budgetOf,
    async pack(head, message, options, mayOmit, conversation) {
      const strategy = options.strategy ?? settings.strategy
      const budget = budgetOf({ ...options, strategy })
      const gathered = await gather(head, message, options, conversation)
      const packing: PackOptions = {
        budget,
        estimator: await estimator(),
        mayOmit: mayOmit || strategy.name !== 'checkpoint' || head.latched === true,
        ...(strategy.name === 'recent' && { maxMessages: strategy.messages }),
      }
      const packed = await withRecall(pack(gathered.material, packing), gathered, packing, options)
      return { packed, gathered, strategy, budget, head }
    },
  }
}
