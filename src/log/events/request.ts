/** What an agent was sent, as a manifest: enough to render it again, without its text. */
import { z } from 'zod'
import { Id } from './id.ts'

const Version = z.int().positive()

const Measured = z.object({ estimated: z.number().nonnegative(), actual: z.number().nonnegative() })

/** What a session has learned of how its model's provider counts. */
export const UsageKnown = z.object({
  model: z.string(),
  /** Our counts and the provider's for the same texts, summed, older ones fading. */
  ...Measured.shape,
  /** A request measured as a whole. */
  whole: Measured,
  /** The newest call that was counted: where its answer stands, and what request and answer take together. */
  last: z.object({ version: Version, tokens: z.int().nonnegative() }),
})
export type UsageKnown = z.infer<typeof UsageKnown>

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
  /** Our counts alone, and of those what stands behind the history. */
  counted: z.object({ all: z.int().nonnegative(), behindHistory: z.int().nonnegative() }).optional(),
  /** What the provider was expected to count. */
  calibrated: z.int().nonnegative().optional(),
  model: z.string().optional(),
  /** It goes on from a request whose usage is known. */
  continues: z.boolean().optional(),
  /** What was known of the model's counting when it was built; the next request goes on from here. */
  calibration: UsageKnown.optional(),
})
export type RequestBuilt = z.infer<typeof RequestBuilt>
