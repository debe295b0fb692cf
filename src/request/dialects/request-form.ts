/** The input of the conversion of a request to the form of one provider. */
import type { RequestMessage } from '../text/provider-message.ts'

/** The part of a request that is sent; one that came over HTTP serves as well. */
export interface PlainRequest {
  system: string
  messages: readonly RequestMessage[]
}

export interface ToolDefinition {
  name: string
  description: string
  /** A JSON Schema of an object. */
  inputSchema: Readonly<Record<string, unknown>>
}

export interface RequestForOptions {
  /** The tools that the model may call. */
  tools?: readonly ToolDefinition[]
  /** Marks what the next request begins with too, where a provider caches only what is marked (Anthropic). */
  cache?: boolean
}
