/** What the log keeps of a request that was built: enough to render it again. */
import { createHash } from 'node:crypto'
import type { RequestBuilt } from '../events/request.ts'
import type { PackedRequest } from './request-packing.ts'

export function manifestOf({
  made: { head, packed, settings, usage, asOf },
  requestId,
}: {
  made: PackedRequest
  requestId: string
}): RequestBuilt {
  const { history, pinned, recall, trigger, catchUp } = packed
  const versions = history.map(({ version }) => version)
  const configuration = createHash('sha256').update(JSON.stringify(settings)).digest('base64url').slice(0, 16)
  return {
    type: 'request.built',
    sessionId: head.id,
    requestId,
    strategy: settings.strategy.name,
    ...(trigger.version !== undefined && { trigger: trigger.version }),
    ...(versions.length > 0 && {
      kept: { from: Math.min(...versions), to: Math.max(...versions), messages: history.length },
    }),
    ...(pinned.length > 0 && { pinned: pinned.map(message => message.version) }),
    ...(head.describedAt !== undefined && { description: head.describedAt }),
    ...(head.contextAt !== undefined && { context: head.contextAt }),
    ...(packed.checkpoint && head.checkpoint && { checkpoint: head.checkpoint.version }),
    ...(recall.length > 0 && { recall: recall.map(quote => quote.version) }),
    ...(asOf !== undefined && { asOf }),
    ...(catchUp && {
      catchUp: { since: catchUp.since, messages: catchUp.messages.length, omitted: catchUp.omitted.messages },
    }),
    omitted: packed.omitted.messages,
    estimator: history[0]?.tokens.by ?? 'none',
    configuration,
    budget: packed.ledger.budget,
    tokens: packed.tokens,
    ...usage,
  }
}
