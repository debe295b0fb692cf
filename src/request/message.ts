/** A message as providers take it: two roles that alternate, the first a user's, tool results right after their calls. */
export interface RequestMessage {
  role: 'user' | 'assistant'
  content: RequestPart[]
}

export type RequestPart =
  | { type: 'text'; text: string }
  /** The model's own, handed back to it while it works; only with the signature it came with. */
  | { type: 'reasoning'; text: string; signature?: string }
  | { type: 'tool-call'; callId: string; name: string; input: unknown }
  | { type: 'tool-result'; callId: string; name?: string; text: string; isError?: boolean }
