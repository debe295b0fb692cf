/** Chat completions as OpenAI defined them and many speak them: hosted (OpenAI, OpenRouter, Groq) or local (Ollama, vLLM). */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { nineCharacterCallId, shortCallId } from '../../request/dialects/wire-names.ts'
import type { Effort, Model } from '../model.ts'
import { aiSdkModel } from './model.ts'
import type { Dialect } from './prompt.ts'
import type { ProviderOptions } from './provider-options.ts'
import { watchedFetch } from './watched-fetch.ts'

export interface OpenAiCompatibleOptions extends ProviderOptions {
  /** The provider is OpenAI itself, which no longer takes what others still want. */
  isOpenAi?: boolean
  /** The provider is Mistral, which is particular about the ids of calls. */
  isMistral?: boolean
  /** Whether the model sees. Default: those of OpenAI do. */
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

interface Manners {
  takesImages: boolean | undefined
  isOpenAi: boolean
  isMistral: boolean
  effort: Effort | undefined
}

function dialectOf({ isOpenAi, isMistral, takesImages, effort }: Manners): Dialect {
  return {
    ...(effort && { callOptions: { compatible: { reasoningEffort: effort } } }),
    takesImages: takesImages ?? isOpenAi,
    callId: isMistral ? nineCharacterCallId : shortCallId,
    reasoning({ text, signature }, { isCurrentTurn }) {
      // Those who show their reasoning want it back between calls and refuse it later; OpenAI never shows any.
      if (isOpenAi || !isCurrentTurn || signature !== undefined || text === '') return undefined
      return { type: 'reasoning', text }
    },
  }
}

/** OpenAI's newer models refuse `max_tokens`, its older ones take both. */
function withNewLimit({ max_tokens, ...body }: Record<string, unknown>): Record<string, unknown> {
  return max_tokens === undefined ? body : { ...body, max_completion_tokens: max_tokens }
}
