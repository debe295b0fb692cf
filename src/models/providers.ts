/** The known providers: their protocols, addresses and keys. */

export interface Provider {
  /** Its protocol, or its variant of OpenAI's. */
  readonly speaks: 'anthropic' | 'openai' | 'mistral' | 'openai-compatible'
  /** Default address. Without one it must be configured. */
  readonly baseUrl?: string
  /** Environment variables of the address and of the key. */
  readonly urlVariable: string
  readonly keyVariable: string
  /** The key is optional: local servers need none. */
  readonly isKeyOptional?: boolean
}

export const providers: Readonly<Record<string, Provider>> = {
  anthropic: hosted('anthropic', 'https://api.anthropic.com/v1', 'ANTHROPIC'),
  openai: hosted('openai', 'https://api.openai.com/v1', 'OPENAI'),
  openrouter: hosted('openai-compatible', 'https://openrouter.ai/api/v1', 'OPENROUTER'),
  groq: hosted('openai-compatible', 'https://api.groq.com/openai/v1', 'GROQ'),
  deepseek: hosted('openai-compatible', 'https://api.deepseek.com/v1', 'DEEPSEEK'),
  together: hosted('openai-compatible', 'https://api.together.xyz/v1', 'TOGETHER'),
  mistral: hosted('mistral', 'https://api.mistral.ai/v1', 'MISTRAL'),
  xai: hosted('openai-compatible', 'https://api.x.ai/v1', 'XAI'),
  ollama: local('http://127.0.0.1:11434/v1', 'OLLAMA'),
  vllm: local('http://127.0.0.1:8000/v1', 'VLLM'),
  llamacpp: local('http://127.0.0.1:8080/v1', 'LLAMACPP'),
  lmstudio: local('http://127.0.0.1:1234/v1', 'LMSTUDIO'),
  'openai-compatible': {
    speaks: 'openai-compatible',
    urlVariable: 'OPENAI_COMPATIBLE_BASE_URL',
    keyVariable: 'OPENAI_COMPATIBLE_API_KEY',
    isKeyOptional: true,
  },
}

/** Returns true for a model at its provider's own address: not a program, a file or a URL. */
export function isProvidersModel(name: string): boolean {
  const at = name.indexOf(':')
  return at > 0 && Object.hasOwn(providers, name.slice(0, at)) && !/@https?:\/\//.test(name)
}

function hosted(speaks: Provider['speaks'], baseUrl: string, prefix: string): Provider {
  return { speaks, baseUrl, urlVariable: `${prefix}_BASE_URL`, keyVariable: `${prefix}_API_KEY` }
}

function local(baseUrl: string, prefix: string): Provider {
  return { ...hosted('openai-compatible', baseUrl, prefix), isKeyOptional: true }
}
