/**
 * Limits of models. A plain list of facts that their makers publish; configuration adds to it or overrides it.
 *
 * A name is matched exactly or by its longest beginning, so a dated or tuned variant counts as its family. A family
 * has the limits of its smallest member: a budget that is too small costs a little, and one that is too large fails
 * the call.
 */
import { z } from 'zod'

const Count = z.int().positive()

export const ModelLimits = z.strictObject({
  /** Tokens of request and answer together. */
  contextWindow: Count,
  /** Maximum tokens of one answer. */
  outputLimit: Count,
  /** Maximum tokens of a request, where the provider limits it apart from the window. */
  inputLimit: Count.optional(),
})
export type ModelLimits = Readonly<z.output<typeof ModelLimits>>

export interface KnownLimits extends ModelLimits {
  /** False when the model is in no list and these are the stated default. */
  readonly known: boolean
}

const defaultModelLimits: ModelLimits = { contextWindow: 128_000, outputLimit: 4_096 }

type Row = readonly [names: string, contextWindow: number, outputLimit: number, inputLimit?: number]

const table: readonly Row[] = [
  // Anthropic. Sonnet 4 and 4.5 take a million only with a beta header.
  ['claude-3-opus claude-3-haiku claude-3-sonnet', 200_000, 4_096],
  ['claude-3-5-sonnet claude-3-5-haiku', 200_000, 8_192],
  ['claude-3-7-sonnet', 200_000, 64_000],
  ['claude-opus-4 claude-opus-4-0 claude-opus-4-1', 200_000, 32_000],
  ['claude-sonnet-4 claude-sonnet-4-0 claude-sonnet-4-5 claude-haiku-4-5 claude-opus-4-5', 200_000, 64_000],
  ['claude-opus-4-6 claude-opus-4-7 claude-opus-4-8 claude-sonnet-4-6', 1_000_000, 128_000],
  ['claude-opus-5 claude-sonnet-5 claude-haiku-5-5 claude-fable-5 claude-mythos-5', 1_000_000, 128_000],

  // OpenAI. The GPT-5 family bounds the request by itself.
  ['gpt-3.5-turbo', 16_385, 4_096],
  ['gpt-4', 8_192, 4_096],
  ['gpt-4-turbo gpt-4-1106 gpt-4-0125', 128_000, 4_096],
  ['gpt-4o gpt-4o-mini', 128_000, 16_384],
  ['gpt-4o-2024-05-13', 128_000, 4_096],
  ['gpt-4.1 gpt-4.1-mini gpt-4.1-nano', 1_047_576, 32_768],
  ['gpt-5 gpt-5.1 gpt-5.2 gpt-5-mini gpt-5-nano gpt-5.4-mini gpt-5.4-nano', 400_000, 128_000, 272_000],
  ['gpt-5-chat gpt-5.1-chat gpt-5.2-chat gpt-5.3-chat', 128_000, 16_384],
  ['gpt-5.4 gpt-5.5', 1_050_000, 128_000, 922_000],
  ['gpt-5.3-codex-spark', 128_000, 16_384],
  ['o1 o3 o3-mini o4-mini', 200_000, 100_000],
  ['o1-mini', 128_000, 65_536],
  ['o1-preview', 128_000, 32_768],
  ['gpt-oss', 131_072, 131_072],

  // Google.
  ['gemini-1.5-pro', 2_097_152, 8_192],
  ['gemini-1.5-flash gemini-2.0-flash', 1_048_576, 8_192],
  ['gemini-2.5-pro gemini-2.5-flash gemini-3-pro gemini-3-flash gemini-3.1 gemini-3.5', 1_048_576, 65_535],

  // DeepSeek.
  ['deepseek-chat deepseek-v3', 131_072, 8_192],
  ['deepseek-reasoner deepseek-r1', 131_072, 65_536],
  ['deepseek-v4', 1_000_000, 384_000],
  ['deepseek-coder-v2', 131_072, 8_192],

  // Amazon.
  ['nova-micro', 128_000, 5_000],
  ['nova-lite nova-pro', 300_000, 5_000],

  // Open weights, wherever they run. The window is the model's own: a server may be started with less. The answer has
  // no limit of its own, so what is listed is what servers commonly allow.
  ['llama-2 llama2', 4_096, 2_048],
  ['llama-3 llama3', 8_192, 4_096],
  ['llama-3.1 llama-3.2 llama-3.3 llama3.1 llama3.2 llama3.3', 131_072, 8_192],
  ['llama-4 llama4', 1_048_576, 8_192],
  ['qwen2.5 qwen-2.5 qwen3 qwen-3 qwq', 32_768, 8_192],
  ['qwen3-coder qwen-3-coder', 262_144, 65_536],
  ['mistral mistral-7b mixtral mixtral-8x7b codestral', 32_768, 8_192],
  ['mixtral-8x22b', 65_536, 8_192],
  ['mistral-large mistral-nemo mistral-medium ministral devstral', 131_072, 8_192],
  ['gemma gemma2 gemma-2', 8_192, 8_192],
  ['gemma3 gemma-3', 32_768, 8_192],
  ['phi-4 phi4', 16_384, 4_096],
]

const builtIn = new Map<string, ModelLimits>()
for (const [names, contextWindow, outputLimit, inputLimit] of table) {
  for (const name of names.split(' ')) {
    builtIn.set(plain(name), { contextWindow, outputLimit, ...(inputLimit !== undefined && { inputLimit }) })
  }
}

/**
 * The limits of a model, named with or without its provider: `anthropic:claude-opus-4-5`, `meta-llama/Llama-3.3-70B`,
 * `llama3.1:8b`.
 *
 * @param extra limits by name from configuration; they win over the built-in ones, also by a beginning only
 */
export function modelLimits(name: string, extra: Readonly<Record<string, ModelLimits>> = {}): KnownLimits {
  const configured = new Map(Object.entries(extra).map(([key, limits]) => [plain(key), limits]))
  const found = longestMatch(name, configured) ?? longestMatch(name, builtIn)
  return found ? { ...found, known: true } : { ...defaultModelLimits, known: false }
}

function longestMatch(name: string, limits: ReadonlyMap<string, ModelLimits>): ModelLimits | undefined {
  for (const candidate of candidates(name)) {
    for (let end = candidate.length; end > 0; end--) {
      // Only whole words of a name count: `o1` is not the beginning of `o100`.
      if (end < candidate.length && /[a-z0-9]/.test(candidate[end]!)) continue
      const found = limits.get(candidate.slice(0, end))
      if (found) return found
    }
  }
  return undefined
}

/** The name as given, without a provider (`provider:`), without folders (`vendor/`), without `region.vendor.`. */
function candidates(name: string): string[] {
  const withoutProvider = name.replace(/^[^:]*:/, '')
  const forms = [name, withoutProvider].flatMap(form => {
    const last = form.slice(form.lastIndexOf('/') + 1)
    return [form, last, last.replace(/^(?:[a-z-]+\.)+/i, '')]
  })
  return [...new Set(forms.map(plain))].filter(form => form !== '')
}

/** One spelling for all: some write `claude-opus-4.7` or `claude-4.7-opus` for `claude-opus-4-7`. */
function plain(name: string): string {
  return name
    .toLowerCase()
    .replaceAll('.', '-')
    .replace(/^claude-(\d+(?:-\d)?)-(opus|sonnet|haiku)/, 'claude-$2-$1')
}
