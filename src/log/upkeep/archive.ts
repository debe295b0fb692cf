/**
 * The format of an archive file: a conversation with everything needed to restore it and to prove it unchanged.
 *
 * One JSON value per line: a heading, the events in order with their salts and hashes (each preceded by the blobs it
 * uses), and a closing line, without which the file was cut off.
 */
import { z } from 'zod'
import { Audience } from '../events/audience.ts'
import { laneKinds } from '../records/lane.ts'

export const ArchiveHeading = z.object({
  colloquy: z.literal('archive'),
  format: z.literal(1),
  project: z.string(),
  conversationId: z.string(),
  /** The version of the newest event. */
  events: z.int().nonnegative(),
  /** The parent's event that a branch continues. It must be there when the branch is restored. */
  branchOf: z.object({ conversationId: z.string(), version: z.int().positive(), hash: z.string() }).optional(),
})
export type ArchiveHeading = z.infer<typeof ArchiveHeading>

export const ArchivedEvent = z.object({
  version: z.int().positive(),
  type: z.string(),
  schema: z.int().positive(),
  at: z.int(),
  actor: z.string(),
  channel: z.string(),
  requestId: z.string().optional(),
  messageId: z.string().optional(),
  lane: z.object({ audienceKey: z.string(), audience: Audience, kind: z.enum(laneKinds) }).optional(),
  adds: z.object({ messages: z.int(), tokens: z.int(), input: z.int(), output: z.int() }).optional(),
  /** Base64; null, like the body, when the content was erased. */
  salt: z.string().nullable(),
  body: z.string().nullable(),
  digest: z.string(),
  hash: z.string(),
})
export type ArchivedEvent = z.infer<typeof ArchivedEvent>

export const ArchivedBlob = z.object({ blob: z.string(), json: z.string() })
export type ArchivedBlob = z.infer<typeof ArchivedBlob>

export const ArchiveEnd = z.object({ end: z.literal(true), events: z.int().nonnegative(), hash: z.string() })
export type ArchiveEnd = z.infer<typeof ArchiveEnd>

export const ArchiveLine = z.union([ArchivedEvent, ArchivedBlob, ArchiveHeading, ArchiveEnd])
export type ArchiveLine = z.infer<typeof ArchiveLine>
