/** The fourth stage of a request: its manifest in the log, enough to render the request again. */
import { createHash } from 'node:crypto'
import { recordRequest } from '../../log/commands/request.ts'
import type { RequestBuilt } from '../../log/events/request.ts'
import type { Message } from '../../log/views/message.ts'
import type { FittedRequest } from '../../request/assembly/fitted-request.ts'
import type { SessionAccess } from '../access/session-access.ts'

export async function recordManifest(access: SessionAccess, request: FittedRequest): Promise<void> {
  const manifest = manifestOf(request, access.engine.newId())
  await access.execute(request.inputs.session, recordRequest(manifest))
}

function manifestOf({ inputs, packed, usage }: FittedRequest, requestId: string): RequestBuilt {
  const { session, settings, asOf } = inputs
  const { history, pinned, recall, trigger, catchUp } = packed
  const range = rangeOf(history)
  const configuration = createHash('sha256').update(JSON.stringify(settings)).digest('base64url').slice(0, 16)
  return {
    type: 'request.built',
    sessionId: session.id,
    requestId,
    strategy: settings.strategy.name,
    ...(trigger.version !== undefined && { trigger: trigger.version }),
    ...(range && { kept: { ...range, messages: history.length } }),
    ...(pinned.length > 0 && { pinned: pinned.map(message => message.version) }),
    ...(session.describedAt !== undefined && { description: session.describedAt }),
    ...(session.contextAt !== undefined && { context: session.contextAt }),
    ...(packed.checkpoint && session.checkpoint && { checkpoint: session.checkpoint.version }),
    ...(recall.length > 0 && { recall: recall.map(quote => quote.version) }),
    ...(asOf !== undefined && { asOf }),
    ...(inputs.end < Number.MAX_SAFE_INTEGER && { upTo: inputs.end }),
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

/** A loop, because a call takes a bounded number of arguments and a window may be longer. */
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
