/** Claude through Anthropic's Messages API, or anything that speaks it. */
import { createAnthropic } from '@ai-sdk/anthropic'
import type { SharedV3ProviderMetadata, SharedV3ProviderOptions } from '@ai-sdk/provider'
import type { Effort, Model } from '../model.ts'
import { plainCallId } from './call-ids.ts'
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
      // Unsigned thinking is not this provider's and would be refused.
      if (signature === undefined) return undefined
      return { type: 'reasoning', text, providerOptions: { anthropic: unpacked(signature) } }
    },
  }
}

/** Thinking that the provider hides comes as data without text, and goes back as such. */
const hidden = 'redacted:'

function signatureOf({ anthropic }: SharedV3ProviderMetadata): string | undefined {
  if (typeof anthropic?.signature === 'string') return anthropic.signature
  return typeof anthropic?.redactedData === 'string' ? `${hidden}${anthropic.redactedData}` : undefined
}

function unpacked(signature: string): SharedV3ProviderOptions[string] {
  return signature.startsWith(hidden) ? { redactedData: signature.slice(hidden.length) } : { signature }
}

/** Models from 4.6 on choose for themselves how long to think; older ones are given a number of tokens. */
function thinking(model: string, effort: Effort): SharedV3ProviderOptions[string] {
  const isOld = /claude-(?:3|(?:opus|sonnet|haiku)-4(?:-[0-5])?(?:-\d{8})?$)/.test(model)
  if (!isOld) return { thinking: { type: 'adaptive' }, effort }
  return { thinking: { type: 'enabled', budgetTokens: { low: 2_048, medium: 8_192, high: 16_384 }[effort] } }
}
