/** What an agent was sent, as a manifest: enough to render it again, without its text. */
import { z } from 'zod'
import { Id } from './id.ts'

const Version = z.int().positive()

export const RequestBuilt = z.object({
  type: z.literal('request.built'),
  sessionId: Id,
  requestId: Id,
  strategy: z.string(),
  /** Version of the triggering message, when it is a stored one. */
  trigger: Version.optional(),
  /** First and last version of the kept messages, and how many they are. */
  kept: z.object({ from: Version, to: Version, messages: z.int().nonnegative() }).optional(),
  pinned: z.array(Version).optional(),
  /** Versions of the events the fixed sections come from. */
  description: Version.optional(),
  context: Version.optional(),
  checkpoint: Version.optional(),
  recall: z.array(Version).optional(),
  /** Nothing after this version was looked at. */
  asOf: Version.optional(),
  /** What came while the agent was away. */
  catchUp: z
    .object({ since: z.int().nonnegative(), messages: z.int().nonnegative(), omitted: z.int().nonnegative() })
    .optional(),
  omitted: z.int().nonnegative(),
  estimator: z.string(),
  /** Digest of the settings that shaped it. */
  configuration: z.string(),
  budget: z.int().positive(),
  tokens: z.int().nonnegative(),
})
export type RequestBuilt = z.infer<typeof RequestBuilt>
