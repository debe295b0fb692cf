/** Chat completions in OpenAI's protocol: hosted (OpenAI, OpenRouter, Groq) or local (Ollama, vLLM). */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { nineCharacterCallId, shortCallId } from '../../request/dialects/wire-names.ts'
import type { Effort, Model } from '../model.ts'
import { aiSdkModel } from './model.ts'
import type { Dialect } from './prompt.ts'
import type { ProviderOptions } from './provider-options.ts'
import { watchedFetch } from './watched-fetch.ts'

export interface OpenAiCompatibleOptions extends ProviderOptions {
  /** The provider is OpenAI itself, whose protocol is newer. */
  isOpenAi?: boolean
  /** The provider is Mistral, which restricts the ids of calls. */
  isMistral?: boolean
  /** The model accepts images. Default: true for OpenAI. */
  takesImages?: boolean
}

export function openAiCompatibleModel(options: OpenAiCompatibleOptions): Model {
  const { model, name = `openai-compatible:${model}`, apiKey, baseUrl, headers, effort, silenceMs } = options
  const { isOpenAi = false, isMistral = false, takesImages } = options
  const provider = createOpenAICompatible({
    name: 'compatible',
    baseURL: baseUrl,
    ...(apiKey !== undefined && { apiKey }),
    ...(headers && { headers: { ...headers } }),
    includeUsage: true,
    fetch: watchedFetch(silenceMs),
    ...(isOpenAi && { transformRequestBody: withNewLimit }),
  })
  return aiSdkModel({ name, model: provider(model), dialect: dialectOf({ isOpenAi, isMistral, takesImages, effort }) })
}

interface ProviderTraits {
  takesImages: boolean | undefined
  isOpenAi: boolean
  isMistral: boolean
  effort: Effort | undefined
}

function dialectOf({ isOpenAi, isMistral, takesImages, effort }: ProviderTraits): Dialect {
  return {
    ...(effort && { callOptions: { compatible: { reasoningEffort: effort } } }),
    takesImages: takesImages ?? isOpenAi,
    callId: isMistral ? nineCharacterCallId : shortCallId,
    reasoning({ text, signature }, { isCurrentTurn }) {
      // Providers that send reasoning want it back between the calls of a turn and refuse it later. OpenAI sends none.
      if (isOpenAi || !isCurrentTurn || signature !== undefined || text === '') return undefined
      return { type: 'reasoning', text }
    },
  }
}

/** OpenAI's newer models refuse `max_tokens`; its older ones accept both names. */
function withNewLimit({ max_tokens, ...body }: Record<string, unknown>): Record<string, unknown> {
  return max_tokens === undefined ? body : { ...body, max_completion_tokens: max_tokens }
}
