/**
 * Adapts any language model of the AI SDK to the port `Model`.
 *
 * It uses the providers' interface, not the SDK's loop above it: retries, tools and limits are Colloquy's, and errors
 * keep their status and headers.
 */
import type { LanguageModelV3, LanguageModelV3StreamPart } from '@ai-sdk/provider'
import { cancelled, failed } from '../failure.ts'
import type { Model, ModelPart, ModelRequest } from '../model.ts'
import { classify } from './classify.ts'
import { callOptionsOf, type Dialect } from './prompt.ts'
import { type SignatureOf, translation } from './stream.ts'

export interface AiSdkModelOptions {
  /** `provider:model` */
  name: string
  model: LanguageModelV3
  dialect?: Dialect
  signatureOf?: SignatureOf
}

/** Accepted by every provider: no cache marks, no reasoning sent back. */
const plainDialect: Dialect = { reasoning: () => undefined }

export function aiSdkModel({
  name,
  model,
  dialect = plainDialect,
  signatureOf = () => undefined,
}: AiSdkModelOptions): Model {
  return { name, takesTools: true, stream: ask }

  async function* ask(request: ModelRequest): AsyncGenerator<ModelPart, void, undefined> {
    const { signal } = request
    const connection = new AbortController()
    const hangUp = () => connection.abort(signal?.reason)
    signal?.addEventListener('abort', hangUp, { once: true })
    let reader: ReadableStreamDefaultReader<LanguageModelV3StreamPart> | undefined
    let isOver = false
    try {
      if (signal?.aborted) {
        yield cancelled()
        return
      }
      yield { type: 'start', model: name }
      const { translate } = translation(signatureOf, callIdsIn(request))
      const options = { ...callOptionsOf(request, dialect), abortSignal: connection.signal }
      const { stream } = await model.doStream(options)
      reader = stream.getReader()
      for (;;) {
        const { done, value } = await reader.read()
        if (signal?.aborted) {
          yield cancelled()
          return
        }
        if (done) {
          yield failed('network', 'The connection closed before the answer was finished.')
          return
        }
        if (value.type === 'error') {
          yield classify(value.error)
          return
        }
        for (const part of translate(value)) {
          isOver = part.type === 'finish' || part.type === 'failure'
          yield part
          if (isOver) return
        }
      }
    } catch (error) {
      yield signal?.aborted ? cancelled() : classify(error)
    } finally {
      signal?.removeEventListener('abort', hangUp)
      if (isOver && reader) drain(reader, connection)
      else {
        // Also when the caller left the loop early.
        connection.abort()
        reader?.cancel().catch(() => undefined)
      }
    }
  }
}

/** Reads the rest of the stream, so that the next call can reuse the connection. Not awaited. */
async function drain(reader: ReadableStreamDefaultReader<unknown>, connection: AbortController): Promise<void> {
  const timer = setTimeout(() => connection.abort(), 1000).unref()
  try {
    while (!(await reader.read()).done);
  } catch {
    // The answer is complete already.
  } finally {
    clearTimeout(timer)
  }
}

function callIdsIn({ messages }: ModelRequest): string[] {
  return messages.flatMap(({ content }) => content.flatMap(part => (part.type === 'tool-call' ? [part.callId] : [])))
}
