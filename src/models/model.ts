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

/** The whole text of an answer, for those who do not stream. A signal ends the wait for a model that heeds none. */
export async function answerOf(model: Model, request: ModelRequest): Promise<ModelAnswer> {
  let text = ''
  const parts = model.stream(request)[Symbol.asyncIterator]()
  const { cancelled, forget } = cancelledBy(request.signal)
  try {
    for (;;) {
      const next = await Promise.race([parts.next(), cancelled])
      if (next === 'cancelled') {
        return { ok: false, kind: 'cancelled', message: 'no answer came in time', retryable: true, partial: text }
      }
      if (next.done) break
      const part = next.value
      if (part.type === 'text-delta') text += part.text
      if (part.type === 'finish') return { ok: true, text, ...(part.usage && { usage: part.usage }) }
      if (part.type === 'failure') {
        const { kind, message, retryable } = part
        return { ok: false, kind, message, retryable, partial: text }
      }
    }
  } finally {
    forget()
    // Not waited for: one that stalls does not end either.
    parts.return?.().catch(() => undefined)
  }
  return { ok: false, kind: 'network', message: 'the answer ended without a finish', retryable: true, partial: text }
}

function cancelledBy(signal: AbortSignal | undefined): { cancelled: Promise<'cancelled'>; forget(): void } {
  let abort = () => {}
  const cancelled = new Promise<'cancelled'>(resolve => {
    abort = () => resolve('cancelled')
    if (signal?.aborted) abort()
    signal?.addEventListener('abort', abort, { once: true })
  })
  return { cancelled, forget: () => signal?.removeEventListener('abort', abort) }
}
