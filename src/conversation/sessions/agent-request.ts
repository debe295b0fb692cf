/** A request as callers get it. Each rendering is made when it is first looked at: hardly anybody sends both. */

import type { Strategy } from '../../log/events/strategy.ts'
import type { Ledger } from '../../request/assembly/ledger.ts'
import { type ExplainedRequest, explainRequest, renderMessages, renderPrompt } from '../../request/assembly/render.ts'
import type { RequestMessage } from '../../request/text/provider-message.ts'
import type { PackedRequest } from './request-packing.ts'

/** A request ready to be sent, in both renderings, with the account of how it came to be. */
export interface AgentRequest {
  sessionId: string
  strategy: Strategy['name']
  /** Seeds 001 and 002: everything but the message, and the message. */
  systemPrompt: string
  userPrompt: string
  /** For a Messages API: the system text and the messages, the user's last. */
  system: string
  messages: RequestMessage[]
  /** By the stored counts. */
  totalTokens: number
  /** What the provider is expected to count, from what it counted before. */
  calibratedTokens: number
  budget: number
  ledger: Ledger
  /** Messages left out, and said so in the request. */
  omitted: number
  /** What came while the agent was away, if it ever acknowledged anything. */
  catchUp: { since: number; messages: number; omitted: number } | undefined
  /** Number of the checkpoint it stands on. */
  checkpoint: number | undefined
  /** Both renderings in pieces that say where each comes from. */
  explain(): ExplainedRequest
}

export function agentRequest({ head, settings, packed, ledger }: PackedRequest): AgentRequest {
  const options = { agentName: head.agentName, place: head.id }
  const asPrompt = once(() => renderPrompt(packed, options))
  const asMessages = once(() => renderMessages(packed, options))
  const request = {
    sessionId: head.id,
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
  // Out of sight: a request is data, to be compared, copied and sent.
  Object.defineProperty(request, 'explain', { value: () => explainRequest(packed, options) })
  return request as AgentRequest
}

function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}
