/** Somebody said something; and later, perhaps, its content was erased. */
import { z } from 'zod'
import { Audience } from './audience.ts'
import { Id } from './id.ts'
import { Metadata } from './metadata.ts'
import { Part } from './part.ts'
import { Resolves } from './reference.ts'

export const Role = z.enum(['user', 'assistant', 'system'])
export type Role = z.infer<typeof Role>

/** What a provider reported for the call that made this message. Never added to the message's own size. */
export const Usage = z.object({
  /** Tokens that were neither read from the provider's cache nor written to it; the three together are the request. */
  input: z.int().nonnegative(),
  /** Reasoning included. */
  output: z.int().nonnegative(),
  cacheRead: z.int().nonnegative().optional(),
  cacheWrite: z.int().nonnegative().optional(),
  reasoning: z.int().nonnegative().optional(),
  /** In US dollars. Absent where the price is unknown, which is not the same as nothing. */
  cost: z.number().nonnegative().optional(),
})
export type Usage = z.infer<typeof Usage>

/** The content's own size in tokens, counted once when it was written. */
export const TokenCount = z.object({ count: z.int().nonnegative(), by: z.string() })
export type TokenCount = z.infer<typeof TokenCount>

/** Secrets that were taken out before the message was stored: of what kind, how many. */
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
  /** The session it was said through; absent when it was said to the conversation itself. */
  sessionId: Id.optional(),
  agentType: Id.optional(),
  featureId: Id.optional(),
  taskId: Id.optional(),
  iteration: z.int().nonnegative().optional(),
  addressees: z.array(Id).optional(),
  mentions: z.array(Id).optional(),
  replyTo: Id.optional(),
  /** Not for the chat a person reads. */
  internal: z.boolean().optional(),
  pinned: z.boolean().optional(),
  usage: Usage.optional(),
  metadata: Metadata.optional(),
  /** It is the content of what another message refers to. Only code says so: no caller can. */
  resolves: Resolves.optional(),
  /** The original signed envelope, where the message came from a network that signs. */
  envelope: z.unknown().optional(),
  redacted: z.array(Redaction).optional(),
})
export type MessageAdded = z.infer<typeof MessageAdded>

export const MessageErased = z.object({
  type: z.literal('message.erased'),
  messageId: Id,
  /** Version of the message whose content is gone. In a branch it may be one of what the branch shares. */
  version: z.int().positive(),
  reason: z.string().optional(),
  /** Facts that repeated it and were written anew without it, with the digests of what they say now. */
  rewritten: z.array(z.object({ version: z.int().positive(), digest: z.string() })).optional(),
})
export type MessageErased = z.infer<typeof MessageErased>

/** A pinned message stays in every request word for word, however much is compacted. */
export const MessagePinned = z.object({
  type: z.literal('message.pinned'),
  messageId: Id,
  version: z.int().positive(),
  pinned: z.boolean(),
})
export type MessagePinned = z.infer<typeof MessagePinned>
