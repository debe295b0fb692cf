/** What a message refers to, and the fact that its content was looked up and stands in the log. */
import { z } from 'zod'
import { Id } from './id.ts'

/** Something a message names and does not hold: it stays a reference in the log, whatever becomes of it. */
export interface Reference {
  /** `nostr`, `conversation`, `file`. */
  kind: string
  /** What to look up: an entity, an id, a path. */
  target: string
}

/** On the message that holds the content: whose reference it resolves. */
export const Resolves = z.object({
  reference: z.string(),
  /** Version of the message that refers to it. */
  of: z.int().positive(),
  /** Where it comes from, as the resolver says. */
  source: z.string(),
})
export type Resolves = z.infer<typeof Resolves>

/** Goes with the message that holds the content. It has no text, so that erasing the messages erases all of it. */
export const ReferenceResolved = z.object({
  type: z.literal('reference.resolved'),
  messageId: Id,
  /** Version of the message with the content. */
  version: z.int().positive(),
  /** Version of the message that refers to it. */
  of: z.int().positive(),
  /** Of the reference and of who may see its content. */
  digest: z.string().min(1).max(64),
})
export type ReferenceResolved = z.infer<typeof ReferenceResolved>
