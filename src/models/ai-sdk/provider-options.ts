/** Options of every provider over HTTP. */
import type { Effort } from '../model.ts'

export interface ProviderOptions {
  /** The model's name at the provider. */
  model: string
  /** Its name in Colloquy. Default: `provider:model`. */
  name?: string
  apiKey?: string
  /** Up to and including the version: `https://api.anthropic.com/v1`. */
  baseUrl: string
  headers?: Readonly<Record<string, string>>
  effort?: Effort
  /** Time the provider may send nothing. */
  silenceMs: number
}
