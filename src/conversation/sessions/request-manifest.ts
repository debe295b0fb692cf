/** What the log keeps of a request that was built: enough to render it again. */
import { createHash } from 'node:crypto'
import type { RequestBuilt } from '../../log/events/request.ts'
import type { Message } from '../../log/views/message.ts'
import type { PackedRequest } from './request-packing.ts'

export function manifestOf({
  made: { head, packed, settings, usage, asOf },
  requestId,
}: {
  made: PackedRequest
  requestId: string
}): RequestBuilt {
  const { history, pinned, recall, trigger, catchUp } = packed
  const range = rangeOf(history)
  const configuration = createHash('sha256').update(JSON.stringify(settings)).digest('base64url').slice(0, 16)
  return {
    type: 'request.built',
    sessionId: head.id,
    requestId,
    strategy: settings.strategy.name,
    ...(trigger.version !== undefined && { trigger: trigger.version }),
    ...(range && { kept: { ...range, messages: history.length } }),
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

/** A loop: what a call takes as its arguments is bounded, and a window may be longer. */
function rangeOf(messages: readonly Message[]): { from: number; to: number } | undefined {
  const [first] = messages
  if (!first) return undefined
  let [from, to] = [first.version, first.version]
  for (const { version } of messages) {
    if (version < from) from = version
    else if (version > to) to = version
  }
  return { from, to }
}
