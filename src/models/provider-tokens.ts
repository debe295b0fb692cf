/**
 * Counts tokens with a provider's own endpoint, once, when a message is written. The count is stored.
 *
 * Texts of a request are counted by the local estimator, which also replaces a provider that does not answer.
 */
import { z } from 'zod'
import { fastEstimator, type TokenEstimator } from '../request/text/tokens.ts'
import { timerMs } from '../timers.ts'

export interface ProviderTokensOptions {
  provider: keyof typeof protocols
  /** The model's name as the provider knows it. */
  model: string
  apiKey: string
  /** Default: the provider's public address. */
  baseUrl?: string
  /** The local estimator. Default: the fast one, which errs high. */
  fallback?: TokenEstimator
  /** Time a write waits for the count. Default 2 seconds. */
  timeoutMs?: number
  /** Time without calls after a failure, so that an outage does not slow every write. Default 30 seconds. */
  pauseMs?: number
}

interface Protocol {
  baseUrl: string
  path(model: string): string
  headers(apiKey: string): Record<string, string>
  body(model: string, text: string): unknown
  /** The count in the reply. */
  reply: z.ZodType<number>
}

const Count = z.int().nonnegative()

const protocols = {
  anthropic: {
    baseUrl: 'https://api.anthropic.com',
    path: () => '/v1/messages/count_tokens',
    headers: apiKey => ({ 'x-api-key': apiKey, 'anthropic-version': '2023-06-01' }),
    body: (model, text) => ({ model, messages: [{ role: 'user', content: text }] }),
    reply: z.object({ input_tokens: Count }).transform(reply => reply.input_tokens),
  },
  openai: {
    baseUrl: 'https://api.openai.com',
    path: () => '/v1/responses/input_tokens',
    headers: apiKey => ({ authorization: `Bearer ${apiKey}` }),
    body: (model, text) => ({ model, input: text }),
    reply: z.object({ input_tokens: Count }).transform(reply => reply.input_tokens),
  },
  google: {
    baseUrl: 'https://generativelanguage.googleapis.com',
    path: model => `/v1beta/models/${encodeURIComponent(model)}:countTokens`,
    headers: apiKey => ({ 'x-goog-api-key': apiKey }),
    body: (_, text) => ({ contents: [{ parts: [{ text }] }] }),
    reply: z.object({ totalTokens: Count }).transform(reply => reply.totalTokens),
  },
} satisfies Record<string, Protocol>

export function providerTokens(options: ProviderTokensOptions): TokenEstimator {
  const { provider, model, apiKey, fallback = fastEstimator, timeoutMs = 2_000, pauseMs = 30_000 } = options
  const protocol: Protocol = protocols[provider]
  const url = `${(options.baseUrl ?? protocol.baseUrl).replace(/\/+$/, '')}${protocol.path(model)}`
  const name = `${provider}:${model}`
  let pausedUntil = 0

  async function askProvider(text: string): Promise<number> {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...protocol.headers(apiKey) },
      body: JSON.stringify(protocol.body(model, text.toWellFormed())),
      // A key follows no redirection.
      redirect: 'error',
      signal: AbortSignal.timeout(timerMs(timeoutMs)),
    })
    if (!response.ok) {
      await response.body?.cancel()
      throw new Error(`${name} answered ${response.status}`)
    }
    return protocol.reply.parse(await response.json())
  }

  return {
    name,
    count: fallback.count,
    async ask(text) {
      const localCount = () => ({ count: fallback.count(text), by: fallback.name })
      // Providers refuse to count an empty text.
      if (text.trim() === '' || performance.now() < pausedUntil) return localCount()
      try {
        return { count: await askProvider(text), by: name }
      } catch {
        // The message is written anyway, with the name of the estimator that counted.
        pausedUntil = performance.now() + pauseMs
        return localCount()
      }
    },
  }
}
