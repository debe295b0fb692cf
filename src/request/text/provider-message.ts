/** A message as providers take it: two roles that alternate, the first a user's, tool results right after their calls. */
export interface RequestMessage {
  role: 'user' | 'assistant'
  content: RequestPart[]
}

export type RequestPart =
  | { type: 'text'; text: string }
  /** The model's own, handed back to it while it works, with the signature it came with, if any. */
  | { type: 'reasoning'; text: string; signature?: string }
  /** By reference. `data` is set once the file was read. Its name stands in the text next to it. */
  | { type: 'image'; name: string; mediaType: string; path?: string; url?: string; data?: Uint8Array }
  | { type: 'tool-call'; callId: string; name: string; input: unknown }
  | { type: 'tool-result'; callId: string; name?: string; text: string; isError?: boolean }
