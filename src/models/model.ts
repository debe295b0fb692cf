/**
 * The port of language models: a request in, a stream of parts out. A model's failure is data, not a throw.
 *
 * An answer is `start`, then blocks (`…-start`, any number of `…-delta`, `…-end`), then `finish` or `failure`, and nothing
 * after that. Blocks of different ids may overlap. A retry sends `waiting` and another `start`, which discards the parts
 * before it.
 */
import type { Usage } from '../log/events/message.ts'
import type { RequestMessage } from '../request/text/provider-message.ts'

export interface ModelRequest {
  system: string
  messages: readonly RequestMessage[]
  tools?: readonly ModelTool[]
  maxOutputTokens?: number
  /** Ends the answer with a failure of the kind `cancelled`. Its parts so far are kept. */
  signal?: AbortSignal
  /** Priority when calls must wait. Default `normal`. */
  priority?: ModelPriority
  /** The prefix that the next request shares. Omitted for a request that nothing continues, because caching costs extra. */
  cache?: StablePrefix
  /** The session's ids in other systems, for models that keep a session of their own. */
  outsideIds?: Readonly<Record<string, string>>
}

export interface ModelTool {
  name: string
  description: string
  /** A JSON Schema of an object. */
  inputSchema: Readonly<Record<string, unknown>>
}

/** `person`: a person waits for the answer. `background`: no person waits. */
export type ModelPriority = 'person' | 'normal' | 'background'

/** Effort of the model's reasoning, where it has any. */
export type Effort = 'low' | 'medium' | 'high'

export interface StablePrefix {
  /** Number of first messages that stay the same; the system text and the tools always do. */
  stableMessages: number
}

export type ModelFailureKind =
  /** The provider is overloaded or has an internal error. */
  | 'overloaded'
  | 'rate-limited'
  /** The request is longer than the model's window. Compact, then ask again. */
  | 'context-too-long'
  /** The provider's filter, or the model, will not answer this. */
  | 'refused'
  /** The connection could not be made, or broke. */
  | 'network'
  /** The provider was silent or busy for too long. */
  | 'timed-out'
  | 'bad-request'
  /** The answer violates the provider's protocol. */
  | 'bad-response'
  /** The key is missing, wrong, or lacks a permission. */
  | 'unauthorised'
  /** The account has no credit left. */
  | 'out-of-credit'
  /** Anything else, as the message says. */
  | 'failed'
  | 'cancelled'

export interface ModelFailure {
  kind: ModelFailureKind
  message: string
  /** The same request may succeed later. */
  retryable: boolean
  /** The provider's hint: retry after this many milliseconds at the earliest. */
  retryAfterMs?: number
  /** The HTTP status or exit code behind it. */
  status?: number
  /** Usage of the failed call, where the provider reports it. */
  usage?: Usage
}

/** `other`: for a reason only this provider has. */
export type StopReason = 'stop' | 'length' | 'tool-calls' | 'other'

export type ModelPart =
  | { type: 'start'; model: string }
  | { type: 'waiting'; forMs: number; attempt: number; failure: ModelFailure }
  | { type: 'text-start'; id: string }
  | { type: 'text-delta'; id: string; text: string }
  | { type: 'text-end'; id: string }
  | { type: 'reasoning-start'; id: string }
  | { type: 'reasoning-delta'; id: string; text: string }
  /** `signature` is the provider's own and goes back with the reasoning unchanged. */
  | { type: 'reasoning-end'; id: string; signature?: string }
  /** The id of a call pairs it with its result. */
  | { type: 'tool-call-start'; id: string; name: string }
  | { type: 'tool-call-delta'; id: string; text: string }
  /** With a `problem` the arguments are unreadable: do not run the tool, return the problem as its result. */
  | { type: 'tool-call-end'; id: string; name: string; input: unknown; problem?: string }
  /** `outsideIds`: the session's new ids in other systems, returned with the next request. */
  | { type: 'finish'; stopReason: StopReason; usage?: Usage; outsideIds?: Readonly<Record<string, string>> }
  | ({ type: 'failure' } & ModelFailure)

export interface Model {
  /** `provider:model`, as in configuration. */
  readonly name: string
  /** True when it can call the tools of a request. Others ignore them. */
  readonly takesTools: boolean
  /**
   * Calls the model. Never throws. Leaving the loop early closes the connection or ends the process behind it.
   *
   * Tools may be run only after `finish`: the calls of a failed answer do not count.
   */
  stream(request: ModelRequest): AsyncIterable<ModelPart>
}
