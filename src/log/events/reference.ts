/** References in messages, and the fact that their content was looked up and recorded. */
import { z } from 'zod'
import { Id } from './id.ts'

/** Something a message names but does not contain. The log keeps the reference, whatever its target becomes. */
export interface Reference {
  /** `nostr`, `conversation`, `file`. */
  kind: string
  /** The entity, id or path to look up. */
  target: string
}

/** On the message that holds the content: the reference it resolves. */
export const Resolves = z.object({
  reference: z.string(),
  /** Version of the message that refers to it. */
  of: z.int().positive(),
  /** Origin of the content, as the resolver names it. */
  source: z.string(),
})
export type Resolves = z.infer<typeof Resolves>

/**
 * Recorded with the message that holds the content. Contains no text itself, so that erasing the message erases
 * everything.
 */
export const ReferenceResolved = z.object({
  type: z.literal('reference.resolved'),
  messageId: Id,
  /** Version of the message with the content. */
  version: z.int().positive(),
  /** Version of the message that refers to it. */
  of: z.int().positive(),
  /** Digest of the reference and of the audience of its content. */
  digest: z.string().min(1).max(64),
})
export type ReferenceResolved = z.infer<typeof ReferenceResolved>
