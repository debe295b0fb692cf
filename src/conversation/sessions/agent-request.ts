/** A request as callers get it. Each rendering is made when it is first read, because few callers use both. */
import type { Strategy } from '../../log/events/strategy.ts'
import type { FittedRequest } from '../../request/assembly/fitted-request.ts'
import type { Ledger } from '../../request/assembly/ledger.ts'
import { type ExplainedRequest, explainRequest, renderMessages, renderPrompt } from '../../request/assembly/render.ts'
import type { RequestMessage } from '../../request/text/provider-message.ts'

/** A request ready to be sent, in both renderings, with its ledger. */
export interface AgentRequest {
  sessionId: string
  strategy: Strategy['name']
  /** Everything but the message, for callers that send two texts. */
  systemPrompt: string
  /** The message. */
  userPrompt: string
  /** For a Messages API: the system text and the messages, the user's last. */
  system: string
  messages: RequestMessage[]
  /** By the stored counts. */
  totalTokens: number
  /** The provider's expected count, from its counts of earlier requests. */
  calibratedTokens: number
  budget: number
  ledger: Ledger
  /** Number of messages left out. The request says so too. */
  omitted: number
  /** Messages since the agent's cursor. Absent for an agent that never acknowledged anything. */
  catchUp: { since: number; messages: number; omitted: number } | undefined
  /** Number of the checkpoint that the request starts from. */
  checkpoint: number | undefined
  /** Returns both renderings in pieces that say where each comes from. */
  explain(): ExplainedRequest
}

export function agentRequest({ inputs: { session, settings }, packed, ledger }: FittedRequest): AgentRequest {
  const options = { agentName: session.agentName, place: session.id }
  const asPrompt = once(() => renderPrompt(packed, options))
  const asMessages = once(() => renderMessages(packed, options))
  const request = {
    sessionId: session.id,
    strategy: settings.strategy.name,
    get systemPrompt() {
      return asPrompt().systemPrompt
    },
    get userPrompt() {
      return asPrompt().userPrompt
    },
    get system() {
      return asMessages().system
    },
    get messages() {
      return asMessages().messages
    },
    totalTokens: packed.tokens,
    calibratedTokens: ledger.calibrated,
    budget: ledger.budget,
    ledger,
    omitted: packed.omitted.messages,
    catchUp: packed.catchUp && {
      since: packed.catchUp.since,
      messages: packed.catchUp.messages.length,
      omitted: packed.catchUp.omitted.messages,
    },
    checkpoint: packed.checkpoint?.number,
  }
  // Not enumerable, because a request is data that is compared, copied and sent.
  Object.defineProperty(request, 'explain', { value: () => explainRequest(packed, options) })
  return request as AgentRequest
}

function once<T>(render: () => T): () => T {
  let cached: { value: T } | undefined
  return () => {
    cached ??= { value: render() }
    return cached.value
  }
}
