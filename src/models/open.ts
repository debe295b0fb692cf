/**
 * From a name to a model: `anthropic:claude-…`, `openai:gpt-…`, `ollama:qwen3`, `openai-compatible:NAME@URL`,
 * `command:claude -p`, `scripted:FILE`.
 *
 * What is behind a name is loaded when it is asked for. Models that cost money or share a machine come with retries, a
 * limit of calls at a time, and prices.
 */
import { ModelKeyMissing, ModelUnknown } from '../errors.ts'
import { type Gate, gate, limited } from './limited.ts'
import type { Effort, Model } from './model.ts'
import { priced } from './priced.ts'
import type { PriceTable } from './prices.ts'
import { type Provider, providers } from './providers.ts'
import { type RetrySettings, retrying } from './retrying.ts'

export interface ModelSettings {
  /** Where the provider is; before its environment variable and its own address. */
  baseUrl?: string
  /** Before the provider's environment variable. */
  apiKey?: string
  /** Sent with every call. */
  headers?: Readonly<Record<string, string>>
  /** How hard the model thinks before it answers, where it can. Default: as the provider does. */
  effort?: Effort
  /** How long a provider may send nothing at all. Default 4 minutes. */
  silenceMs?: number
  /** How long a command may take. Default 10 minutes. */
  timeoutMs?: number
  /** The folder a command works in. Default: that of this process. */
  folder?: string
  /** `false` for none. */
  retries?: Partial<RetrySettings> | false
  /** Calls at a time, of this process, to this model. Default 4, for a command 2. */
  concurrency?: number
  /** Whether the model sees images. Default: those of Anthropic and OpenAI do; to others they are named in words. */
  takesImages?: boolean
  /** Prices by model name, before the built-in ones. */
  prices?: PriceTable
  /** Where keys and addresses are read. Default: that of this process. */
  environment?: Readonly<Record<string, string | undefined>>
}

/**
 * Opens a model by its name. No call is made yet.
 *
 * @throws {ModelUnknown} when the name is no model's; it lists those that are
 * @throws {ModelKeyMissing} when its provider wants a key and there is none; it says which variable to set
 */
export async function openModel(name: string, settings: ModelSettings = {}): Promise<Model> {
  const at = name.indexOf(':')
  const kind = at < 0 ? name : name.slice(0, at)
  const rest = at < 0 ? '' : name.slice(at + 1).trim()
  if (kind === 'scripted' && rest !== '') return (await import('./scripted/index.ts')).scriptedFile(rest)
  if (kind === 'command' && rest !== '') {
    const { commandModel } = await import('./command/index.ts')
    return limited(commandModel(rest, settings), sharedGate(name, settings.concurrency ?? 2))
  }
  const provider = Object.hasOwn(providers, kind) ? providers[kind] : undefined
  if (!provider || rest === '') throw new ModelUnknown(name, knownNames())
  const [model, urlInName] = kind === 'openai-compatible' ? splitUrl(rest) : [rest]
  const found = { name: `${kind}:${model}`, model, baseUrl: addressOf(name, provider, settings, urlInName) }
  const base = await load(provider, found, settings)
  const one = limited(base, sharedGate(`${found.name} ${found.baseUrl}`, settings.concurrency ?? 4))
  // The place is given up while it waits to try again.
  const patient = settings.retries === false ? one : retrying(one, settings.retries)
  return priced(patient, settings.prices)
}

interface Found {
  name: string
  model: string
  baseUrl: string
}

async function load(provider: Provider, found: Found, settings: ModelSettings): Promise<Model> {
  const { headers, effort, silenceMs = 240_000, environment = process.env } = settings
  const { keyVariable, speaks } = provider
  const apiKey = settings.apiKey ?? (environment[keyVariable] || undefined)
  const token = speaks === 'anthropic' ? environment.ANTHROPIC_AUTH_TOKEN || undefined : undefined
  if (apiKey === undefined && token === undefined && !provider.isKeyOptional) {
    throw new ModelKeyMissing({ name: found.name, variable: keyVariable })
  }
  const options = {
    ...found,
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
  const found = /^(.+?)@(https?:\/\/.+)$/.exec(rest)
  return found ? [found[1]!, found[2]!] : [rest]
}

function addressOf(name: string, provider: Provider, settings: ModelSettings, inName: string | undefined): string {
  const { environment = process.env } = settings
  const address = inName ?? settings.baseUrl ?? (environment[provider.urlVariable] || provider.baseUrl)
  if (address === undefined) {
    throw new ModelUnknown(name, `say where it is: NAME@URL, or set ${provider.urlVariable}.`)
  }
  if (!URL.canParse(address)) throw new ModelUnknown(name, `"${address}" is no address.`)
  const url = new URL(address)
  // Many write the address of the server alone; the interface is below its version.
  if (url.pathname === '/' || url.pathname === '') url.pathname = '/v1'
  return url.href.replace(/\/$/, '')
}

function knownNames(): string {
  const names = Object.keys(providers).map(provider => `${provider}:MODEL`)
  return `use ${names.join(', ')} (or openai-compatible:MODEL@URL), "command:PROGRAM ARGUMENTS" or scripted:FILE.`
}

/** How many calls are under way to a model, and how many wait for their turn. */
export interface ModelQueue {
  model: string
  inside: number
  waiting: number
}

/** Of every model that was opened by name in this process. */
export function modelQueues(): ModelQueue[] {
  // Up to the first space: neither an address nor the arguments of a program, which may carry keys.
  return [...gates].map(([key, { gate }]) => ({
    model: key.split(' ')[0]!,
    inside: gate.inside,
    waiting: gate.waiting,
  }))
}

/** One for all of this process: what they share is the provider's patience. */
const gates = new Map<string, { concurrency: number; gate: Gate }>()

function sharedGate(key: string, concurrency: number): Gate {
  const known = gates.get(key)
  if (known?.concurrency === concurrency) return known.gate
  const made = gate(concurrency)
  gates.set(key, { concurrency, gate: made })
  return made
}
