/** What the log keeps of a request that was built: enough to render it again. */
import { createHash } from 'node:crypto'
import type { RequestBuilt } from '../events/request.ts'
import type { Packed } from '../request/pack.ts'
import type { Strategy } from '../request/strategy.ts'
import type { SessionHead } from '../views/session.ts'
import type { RequestSettings } from './request-settings.ts'

export function manifestOf({
  head,
  requestId,
  strategy,
  packed,
  settings,
  asOf,
}: {
  head: SessionHead
  requestId: string
  strategy: Strategy
  packed: Packed
  settings: RequestSettings
  asOf: number | undefined
}): RequestBuilt {
  const { history, pinned, recall, trigger, catchUp } = packed
  const [first, last] = [history[0], history.at(-1)]
  const configuration = createHash('sha256').update(JSON.stringify(settings)).digest('base64url').slice(0, 16)
  return {
    type: 'request.built',
    sessionId: head.id,
    requestId,
    strategy: strategy.name,
    ...(trigger.version !== undefined && { trigger: trigger.version }),
    ...(first && last && { kept: { from: first.version, to: last.version, messages: history.length } }),
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
  }
}
