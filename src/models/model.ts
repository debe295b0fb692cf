/**
 * The port of language models: a request in, a stream of parts out. A model's failure is data, not a throw.
 */
import type { Usage } from '../events/message.ts'
import type { RequestMessage } from '../request/message.ts'

export interface ModelRequest {
  system: string
  messages: readonly RequestMessage[]
  maxOutputTokens?: number
  signal?: AbortSignal
}

export type ModelFailureKind =
  | 'overloaded'
  | 'rate-limited'
  | 'context-too-long'
  | 'refused'
  | 'network'
  | 'bad-request'
  | 'cancelled'

export type ModelPart =
  | { type: 'text-start'; id: string }
  | { type: 'text-delta'; id: string; text: string }
  | { type: 'text-end'; id: string }
  | { type: 'reasoning-start'; id: string }
  | { type: 'reasoning-delta'; id: string; text: string }
  | { type: 'reasoning-end'; id: string; signature?: string }
  | { type: 'tool-call'; callId: string; name: string; input: unknown }
  | { type: 'finish'; stopReason: 'stop' | 'length' | 'tool-calls' | 'other'; usage?: Usage }
  | { type: 'failure'; kind: ModelFailureKind; message: string; retryable: boolean; retryAfterMs?: number }

export interface Model {
  /** `provider:model`, as in configuration. */
  readonly name: string
  /** The last part is `finish` or `failure`; after it the stream ends. */
  stream(request: ModelRequest): AsyncIterable<ModelPart>
}

export type ModelAnswer =
  | { ok: true; text: string; usage?: Usage }
  | { ok: false; kind: ModelFailureKind; message: string; retryable: boolean; partial: string }

/** The whole text of an answer, for those who do not stream. */
export async function answerOf(model: Model, request: ModelRequest): Promise<ModelAnswer> {
  let text = ''
  for await (const part of model.stream(request)) {
    if (part.type === 'text-delta') text += part.text
    if (part.type === 'finish') return { ok: true, text, ...(part.usage && { usage: part.usage }) }
    if (part.type === 'failure') {
      const { kind, message, retryable } = part
      return { ok: false, kind, message, retryable, partial: text }
    }
  }
  return { ok: false, kind: 'network', message: 'the answer ended without a finish', retryable: true, partial: text }
}
