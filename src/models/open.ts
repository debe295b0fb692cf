/**
 * Opens models by name: `anthropic:claude-…`, `openai:gpt-…`, `ollama:qwen3`, `openai-compatible:NAME@URL`,
 * `command:claude -p`, `scripted:FILE`.
 *
 * Implementations are loaded on demand. Hosted and local models get retries, a limit of calls at a time, and prices.
 */
import { ModelKeyMissing, ModelUnknown } from '../errors.ts'
import { type CallLimiter, callLimiter, limited } from './call-limiter.ts'
import type { Effort, Model } from './model.ts'
import { priced } from './priced-model.ts'
import type { PriceTable } from './prices.ts'
import { type Provider, providers } from './providers.ts'
import { type RetrySettings, retrying } from './retry.ts'

export interface ModelSettings {
  /** The provider's address. Default: its environment variable, else its public address. */
  baseUrl?: string
  /** Default: the provider's environment variable. */
  apiKey?: string
  /** Sent with every call. */
  headers?: Readonly<Record<string, string>>
  /** Effort of the model's reasoning, where it has any. Default: the provider's. */
  effort?: Effort
  /** Time a provider may send nothing. Default 4 minutes. */
  silenceMs?: number
  /** Time-out of a command. Default 10 minutes. */
  timeoutMs?: number
  /** The folder a command works in. Default: this process's. */
  folder?: string
  /** `false` for none. */
  retries?: Partial<RetrySettings> | false
  /** Calls at a time, of this process, to this model. Default 4, for a command 2. */
  concurrency?: number
  /** The model accepts images; others get their names. Default: true for Anthropic and OpenAI. */
  takesImages?: boolean
  /** Prices by model name, before the built-in ones. */
  prices?: PriceTable
  /** Source of keys and addresses. Default: this process's environment. */
  environment?: Readonly<Record<string, string | undefined>>
}

/**
 * Opens a model by its name. No call is made yet.
 *
 * @throws {ModelUnknown} when the name is unknown, with the possible names
 * @throws {ModelKeyMissing} when the provider needs a key, with the variable to set
 */
export async function openModel(name: string, settings: ModelSettings = {}): Promise<Model> {
  const at = name.indexOf(':')
  const kind = at < 0 ? name : name.slice(0, at)
  const rest = at < 0 ? '' : name.slice(at + 1).trim()
  if (kind === 'scripted' && rest !== '') return (await import('./scripted/index.ts')).scriptedFile(rest)
  if (kind === 'command' && rest !== '') {
    const { commandModel } = await import('./command/index.ts')
    return limited(commandModel(rest, settings), sharedLimiter(name, settings.concurrency ?? 2))
  }
  const provider = Object.hasOwn(providers, kind) ? providers[kind] : undefined
  if (!provider || rest === '') throw new ModelUnknown(name, knownNames())
  const [model, urlInName] = kind === 'openai-compatible' ? splitUrl(rest) : [rest]
  const target = { name: `${kind}:${model}`, model, baseUrl: addressOf(name, provider, settings, urlInName) }
  const loaded = await load(provider, target, settings)
  const limitedModel = limited(loaded, sharedLimiter(`${target.name} ${target.baseUrl}`, settings.concurrency ?? 4))
  // Outside of the limiter, so that a wait before a retry holds no slot.
  const retriedModel = settings.retries === false ? limitedModel : retrying(limitedModel, settings.retries)
  return priced(retriedModel, settings.prices)
}

interface ModelTarget {
  name: string
  model: string
  baseUrl: string
}

async function load(provider: Provider, target: ModelTarget, settings: ModelSettings): Promise<Model> {
  const { headers, effort, silenceMs = 240_000, environment = process.env } = settings
  const { keyVariable, speaks } = provider
  const apiKey = settings.apiKey ?? (environment[keyVariable] || undefined)
  const token = speaks === 'anthropic' ? environment.ANTHROPIC_AUTH_TOKEN || undefined : undefined
  if (apiKey === undefined && token === undefined && !provider.isKeyOptional) {
    throw new ModelKeyMissing({ name: target.name, variable: keyVariable })
  }
  const options = {
    ...target,
    ...(apiKey !== undefined && { apiKey }),
    ...(headers && { headers }),
    ...(effort && { effort }),
    silenceMs,
  }
  if (speaks === 'anthropic') {
    const { anthropicModel } = await import('./ai-sdk/anthropic.ts')
    return anthropicModel({ ...options, ...(apiKey === undefined && token !== undefined && { authToken: token }) })
  }
  const { openAiCompatibleModel } = await import('./ai-sdk/openai-compatible.ts')
  const { takesImages } = settings
  return openAiCompatibleModel({
    ...options,
    ...(takesImages !== undefined && { takesImages }),
    isOpenAi: speaks === 'openai',
    isMistral: speaks === 'mistral',
  })
}

/** `qwen3@http://127.0.0.1:8000/v1` */
function splitUrl(rest: string): [string, string?] {
  const match = /^(.+?)@(https?:\/\/.+)$/.exec(rest)
  return match ? [match[1]!, match[2]!] : [rest]
}

function addressOf(name: string, provider: Provider, settings: ModelSettings, urlInName: string | undefined): string {
  const { environment = process.env } = settings
  const address = urlInName ?? settings.baseUrl ?? (environment[provider.urlVariable] || provider.baseUrl)
  if (address === undefined) {
    throw new ModelUnknown(name, `its address is missing: use NAME@URL, or set ${provider.urlVariable}.`)
  }
  if (!URL.canParse(address)) throw new ModelUnknown(name, `"${address}" is not a URL.`)
  const url = new URL(address)
  // A server's address alone lacks the version in its path.
  if (url.pathname === '/' || url.pathname === '') url.pathname = '/v1'
  return url.href.replace(/\/$/, '')
}

function knownNames(): string {
  const names = Object.keys(providers).map(provider => `${provider}:MODEL`)
  return `use ${names.join(', ')} (or openai-compatible:MODEL@URL), "command:PROGRAM ARGUMENTS" or scripted:FILE.`
}

/** Numbers of running and waiting calls of a model. */
export interface ModelQueue {
  model: string
  inside: number
  waiting: number
}

/** Returns the queues of all models opened by name in this process. */
export function modelQueues(): ModelQueue[] {
  // Only the part before the first space, because addresses and arguments of programs may contain keys.
  return [...limiters].map(([key, { limiter }]) => ({
    model: key.split(' ')[0]!,
    inside: limiter.running,
    waiting: limiter.waiting,
  }))
}

/** Shared by the whole process, because a provider limits all of its calls. */
const limiters = new Map<string, { concurrency: number; limiter: CallLimiter }>()

function sharedLimiter(key: string, concurrency: number): CallLimiter {
  const shared = limiters.get(key)
  if (shared?.concurrency === concurrency) return shared.limiter
  const limiter = callLimiter(concurrency)
  limiters.set(key, { concurrency, limiter })
  return limiter
}
