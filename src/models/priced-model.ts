/** A model that reports the cost of each call, where its price is known. */
import type { Usage } from '../log/events/message.ts'
import type { Model, ModelPart } from './model.ts'
import { costOf, type Price, type PriceTable, priceOf } from './prices.ts'

/**
 * Adds the cost to the usage of every answer. Without a known price the cost stays undefined, because it is not zero.
 *
 * @param extra prices by model name from configuration, which override the built-in ones
 */
export function priced(model: Model, extra: PriceTable = {}): Model {
  const price = priceOf(model.name, extra)
  if (!price) return model
  return {
    name: model.name,
    takesTools: model.takesTools,
    async *stream(request) {
      for await (const part of model.stream(request)) yield withCost(part, price)
    },
  }
}

function withCost(part: ModelPart, price: Price): ModelPart {
  if (part.type === 'waiting') {
    const { usage } = part.failure
    return usage ? { ...part, failure: { ...part.failure, usage: usageWithCost(usage, price) } } : part
  }
  if ((part.type !== 'finish' && part.type !== 'failure') || !part.usage) return part
  return { ...part, usage: usageWithCost(part.usage, price) }
}

function usageWithCost(usage: Usage, price: Price): Usage {
  return { ...usage, cost: usage.cost ?? costOf(usage, price) }
}
