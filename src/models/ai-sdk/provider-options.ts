/** What every provider behind HTTP is opened with. */
import type { Effort } from '../model.ts'

export interface ProviderOptions {
  /** The model's name at the provider. */
  model: string
  /** What it is called here. Default: the provider and the model. */
  name?: string
  apiKey?: string
  /** Up to and including the version: `https://api.anthropic.com/v1`. */
  baseUrl: string
  headers?: Readonly<Record<string, string>>
  effort?: Effort
  /** How long the provider may send nothing at all. */
  silenceMs: number
}
