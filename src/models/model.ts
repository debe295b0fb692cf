/**
 * The port of language models: a request in, a stream of parts out. A model's failure is data, not a throw.
 *
 * An answer is `start`, then blocks (`…-start`, any number of `…-delta`, `…-end`), then `finish` or `failure`, and nothing
 * after that. Blocks of different ids may overlap. Where a wrapper tries again, `waiting` says so and a further `start`
 * begins the answer anew: what came before it no longer counts.
 */
import type { Usage } from '../log/events/message.ts'
import type { RequestMessage } from '../request/text/provider-message.ts'

export interface ModelRequest {
  system: string
  messages: readonly RequestMessage[]
  tools?: readonly ModelTool[]
  maxOutputTokens?: number
  /** Ends the answer with a failure of the kind `cancelled`; what had come by then counts as said. */
  signal?: AbortSignal
  /** Who goes first where calls must wait. Default `normal`. */
  priority?: ModelPriority
  /** What the next request will begin with too. Left out for a request that nothing continues: marking it costs extra. */
  cache?: StablePrefix
  /** Ids that the session has elsewhere, by system: for models that keep a session of their own. */
  outsideIds?: Readonly<Record<string, string>>
}

export interface ModelTool {
  name: string
  description: string
  /** A JSON Schema of an object. */
  inputSchema: Readonly<Record<string, unknown>>
}

/** `person`: somebody is looking at the screen. `background`: nobody waits for it. */
export type ModelPriority = 'person' | 'normal' | 'background'

/** How hard a model thinks before it answers, where it can. */
export type Effort = 'low' | 'medium' | 'high'

export interface StablePrefix {
  /** How many of the first messages stay as they are; the system text and the tools do in any case. */
  stableMessages: number
}

export type ModelFailureKind =
  /** The provider has too much to do, or a fault of its own. */
  | 'overloaded'
  | 'rate-limited'
  /** The request is longer than the model's window. Compact, then ask again. */
  | 'context-too-long'
  /** The provider's filter, or the model, will not answer this. */
  | 'refused'
  /** The connection could not be made, or broke. */
  | 'network'
  /** It was silent, or busy, for longer than allowed. */
  | 'timed-out'
  | 'bad-request'
  /** What came back is not what this provider's protocol says. */
  | 'bad-response'
  /** No key, a wrong key, or one that may not do this. */
  | 'unauthorised'
  /** The account is used up; waiting does not help. */
  | 'out-of-credit'
  /** Anything else; the message says what. */
  | 'failed'
  | 'cancelled'

export interface ModelFailure {
  kind: ModelFailureKind
  message: string
  /** Whether the same request may succeed later. */
  retryable: boolean
  /** The provider's own hint: not before this many milliseconds. */
  retryAfterMs?: number
  /** The HTTP status or exit code behind it. */
  status?: number
  /** What it cost all the same, where the provider says. */
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
  /** With a `problem` the arguments could not be read: do not run it, answer the call with the problem. */
  | { type: 'tool-call-end'; id: string; name: string; input: unknown; problem?: string }
  /** `outsideIds`: what the session is called elsewhere from now on; handed back with the next request. */
  | { type: 'finish'; stopReason: StopReason; usage?: Usage; outsideIds?: Readonly<Record<string, string>> }
  | ({ type: 'failure' } & ModelFailure)

export interface Model {
  /** `provider:model`, as in configuration. */
  readonly name: string
  /** Whether it can call the tools of a request. One that cannot ignores them. */
  readonly takesTools: boolean
  /**
   * Asks the model. Never throws; leaving the loop early closes the connection or ends the process behind it.
   *
   * Tools may be run only after `finish`: an answer that failed has asked for nothing.
   */
  stream(request: ModelRequest): AsyncIterable<ModelPart>
}
