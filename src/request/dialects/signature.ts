/**
 * Signatures of reasoning, with the provider they are for.
 *
 * A provider takes its own back unchanged and refuses any other's, so each carries a prefix. Anthropic's have none.
 */

export type SignedBy = 'openai' | 'gemini' | 'ai-sdk'

export function sealed(by: SignedBy, content: unknown): string {
  return `${by}:${JSON.stringify(content)}`
}

/** The value that this provider sealed. Undefined for another provider's. */
export function unsealed(by: SignedBy, signature: string | undefined): unknown {
  if (signature === undefined || !signature.startsWith(`${by}:`)) return undefined
  try {
    return JSON.parse(signature.slice(by.length + 1))
  } catch {
    return undefined
  }
}

/** Thinking that Anthropic hides comes as data without text, and goes back as such. */
const hidden = 'redacted:'

export function anthropicSignature(block: { signature: string } | { data: string }): string {
  return 'data' in block ? `${hidden}${block.data}` : block.signature
}

export function fromAnthropicSignature(
  signature: string | undefined,
): { signature: string } | { data: string } | undefined {
  if (signature === undefined || signature === '' || /^(?:openai|gemini|ai-sdk):/.test(signature)) return undefined
  return signature.startsWith(hidden) ? { data: signature.slice(hidden.length) } : { signature }
}
