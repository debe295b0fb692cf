/** Claude through Anthropic's Messages API, or anything that speaks it. */
import { createAnthropic } from '@ai-sdk/anthropic'
import type { SharedV3ProviderMetadata, SharedV3ProviderOptions } from '@ai-sdk/provider'
import { anthropicSignature, fromAnthropicSignature } from '../../request/dialects/signature.ts'
import { plainCallId } from '../../request/dialects/wire-names.ts'
import type { Effort, Model } from '../model.ts'
import { aiSdkModel } from './model.ts'
import type { Dialect } from './prompt.ts'
import type { ProviderOptions } from './provider-options.ts'
import { watchedFetch } from './watched-fetch.ts'

export interface AnthropicOptions extends ProviderOptions {
  /** Sent as a bearer token, for gateways; in place of `apiKey`. */
  authToken?: string
}

export function anthropicModel(options: AnthropicOptions): Model {
  const { model, name = `anthropic:${model}`, apiKey, authToken, baseUrl, headers, effort, silenceMs } = options
  const provider = createAnthropic({
    ...(authToken === undefined ? { apiKey: apiKey ?? '' } : { authToken }),
    baseURL: baseUrl,
    ...(headers && { headers: { ...headers } }),
    fetch: watchedFetch(silenceMs),
  })
  return aiSdkModel({ name, model: provider(model), dialect: dialectOf(model, effort), signatureOf })
}

function dialectOf(model: string, effort: Effort | undefined): Dialect {
  return {
    cacheMark: { anthropic: { cacheControl: { type: 'ephemeral' } } },
    ...(effort && { callOptions: { anthropic: thinking(model, effort) } }),
    callId: plainCallId,
    takesImages: true,
    reasoning({ text, signature }) {
      // Unsigned thinking, or another provider's, would be refused.
      const signed = fromAnthropicSignature(signature)
      if (!signed) return undefined
      return {
        type: 'reasoning',
        text,
        providerOptions: { anthropic: 'data' in signed ? { redactedData: signed.data } : signed },
      }
    },
  }
}

function signatureOf({ anthropic }: SharedV3ProviderMetadata): string | undefined {
  if (typeof anthropic?.signature === 'string') return anthropic.signature
  const data = anthropic?.redactedData
  return typeof data === 'string' ? anthropicSignature({ data }) : undefined
}

/** Models from 4.6 on choose their thinking budget themselves; older ones need a number of tokens. */
function thinking(model: string, effort: Effort): SharedV3ProviderOptions[string] {
  const isOld = /claude-(?:3|(?:opus|sonnet|haiku)-4(?:-[0-5])?(?:-\d{8})?$)/.test(model)
  if (!isOld) return { thinking: { type: 'adaptive' }, effort }
  return { thinking: { type: 'enabled', budgetTokens: { low: 2_048, medium: 8_192, high: 16_384 }[effort] } }
}
