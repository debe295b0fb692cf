/**
 * Any language model of the AI SDK behind our port.
 *
 * The providers' own interface is used, not the SDK's loop above it: retries, tools and limits are ours, and an error
 * arrives with its status and headers.
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

/** What every provider takes: no marks, no reasoning sent back. */
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
      if (isOver && reader) letGo(reader, connection)
      else {
        // Also when the reader of this stream left it in the middle.
        connection.abort()
        reader?.cancel().catch(() => undefined)
      }
    }
  }
}

/** Reads what little may come after the end, so that the next call can have the connection. Nobody waits for it. */
async function letGo(reader: ReadableStreamDefaultReader<unknown>, connection: AbortController): Promise<void> {
  const timer = setTimeout(() => connection.abort(), 1000).unref()
  try {
    while (!(await reader.read()).done);
  } catch {
    // It was of no use to anybody any more.
  } finally {
    clearTimeout(timer)
  }
}

function callIdsIn({ messages }: ModelRequest): string[] {
  return messages.flatMap(({ content }) => content.flatMap(part => (part.type === 'tool-call' ? [part.callId] : [])))
}
