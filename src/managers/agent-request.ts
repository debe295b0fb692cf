/** A request as callers get it. Each rendering is made when it is first looked at: hardly anybody sends both. */
import type { Ledger } from '../request/ledger.ts'
import type { RequestMessage } from '../request/message.ts'
import type { Packed } from '../request/pack.ts'
import { renderMessages, renderPrompt } from '../request/render.ts'
import type { Strategy } from '../request/strategy.ts'
import type { SessionHead } from '../views/session.ts'

export interface RequestOptions {
  budget?: number
  strategy?: Strategy
  recall?: boolean
  /** Only what was there at this version of the conversation. Default: all there is. */
  asOf?: number
}

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
  totalTokens: number
  budget: number
  ledger: Ledger
  /** Messages left out, and said so in the request. */
  omitted: number
  /** What came while the agent was away, if it ever acknowledged anything. */
  catchUp: { since: number; messages: number; omitted: number } | undefined
  /** Number of the checkpoint it stands on. */
  checkpoint: number | undefined
}

export function agentRequest(head: SessionHead, strategy: Strategy, packed: Packed): AgentRequest {
  const options = { agentName: head.agentName, place: head.id }
  const asPrompt = once(() => renderPrompt(packed, options))
  const asMessages = once(() => renderMessages(packed, options))
  return {
    sessionId: head.id,
    strategy: strategy.name,
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
    budget: packed.ledger.budget,
    ledger: packed.ledger,
    omitted: packed.omitted.messages,
    catchUp: packed.catchUp && {
      since: packed.catchUp.since,
      messages: packed.catchUp.messages.length,
      omitted: packed.catchUp.omitted.messages,
    },
    checkpoint: packed.checkpoint?.number,
  }
}

function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}
