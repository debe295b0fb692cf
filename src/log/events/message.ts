/** Messages, and the erasing of their content. */
import { z } from 'zod'
import { Audience } from './audience.ts'
import { Id } from './id.ts'
import { Metadata } from './metadata.ts'
import { Part } from './part.ts'
import { Resolves } from './reference.ts'

export const Role = z.enum(['user', 'assistant', 'system'])
export type Role = z.infer<typeof Role>

/** Usage that a provider reported for the call that produced this message. Never added to the message's own size. */
export const Usage = z.object({
  /** Tokens neither read from the provider's cache nor written to it. The request is the sum of all three. */
  input: z.int().nonnegative(),
  /** Includes reasoning. */
  output: z.int().nonnegative(),
  cacheRead: z.int().nonnegative().optional(),
  cacheWrite: z.int().nonnegative().optional(),
  reasoning: z.int().nonnegative().optional(),
  /** In US dollars. Absent when the price is unknown, which differs from zero. */
  cost: z.number().nonnegative().optional(),
})
export type Usage = z.infer<typeof Usage>

/** The content's size in tokens, counted once when written. */
export const TokenCount = z.object({ count: z.int().nonnegative(), by: z.string() })
export type TokenCount = z.infer<typeof TokenCount>

/** Secrets removed before the message was stored: their kind and number. */
export const Redaction = z.object({ kind: z.string(), count: z.int().positive() })
export type Redaction = z.infer<typeof Redaction>

export const MessageAdded = z.object({
  type: z.literal('message.added'),
  messageId: Id,
  role: Role,
  author: Id,
  audience: Audience,
  parts: z.array(Part),
  tokens: TokenCount,
  /** The session it was written through; absent for messages to the conversation itself. */
  sessionId: Id.optional(),
  agentType: Id.optional(),
  featureId: Id.optional(),
  taskId: Id.optional(),
  iteration: z.int().nonnegative().optional(),
  addressees: z.array(Id).optional(),
  mentions: z.array(Id).optional(),
  replyTo: Id.optional(),
  /** Hidden from the chat that people read. */
  internal: z.boolean().optional(),
  pinned: z.boolean().optional(),
  usage: Usage.optional(),
  metadata: Metadata.optional(),
  /** Marks the looked-up content of a reference. Only code can set it. */
  resolves: Resolves.optional(),
  /** The original signed envelope of a message from a network that signs. */
  envelope: z.unknown().optional(),
  redacted: z.array(Redaction).optional(),
})
export type MessageAdded = z.infer<typeof MessageAdded>

export const MessageErased = z.object({
  type: z.literal('message.erased'),
  messageId: Id,
  /** Version of the erased message. In a branch it may be one that the branch shares. */
  version: z.int().positive(),
  reason: z.string().optional(),
  /** Facts that repeated the content and were rewritten without it, with their new digests. */
  rewritten: z.array(z.object({ version: z.int().positive(), digest: z.string() })).optional(),
})
export type MessageErased = z.infer<typeof MessageErased>

/** A pinned message stays in every request word for word, whatever is compacted. */
export const MessagePinned = z.object({
  type: z.literal('message.pinned'),
  messageId: Id,
  version: z.int().positive(),
  pinned: z.boolean(),
})
export type MessagePinned = z.infer<typeof MessagePinned>
