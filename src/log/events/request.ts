/** The manifest of a request: enough to render it again, without its text. */
import { z } from 'zod'
import { Id } from './id.ts'

const Version = z.int().positive()

const Measured = z.object({ estimated: z.number().nonnegative(), actual: z.number().nonnegative() })

/** A session's calibration of its provider's token counting. */
export const UsageKnown = z.object({
  model: z.string(),
  /** Our counts and the provider's for the same texts, summed, with older ones fading. */
  ...Measured.shape,
  /** A request measured as a whole. */
  whole: Measured,
  /** The newest counted call: version of its answer, and tokens of request and answer together. */
  last: z.object({ version: Version, tokens: z.int().nonnegative() }),
})
export type UsageKnown = z.infer<typeof UsageKnown>

export const RequestBuilt = z.object({
  type: z.literal('request.built'),
  sessionId: Id,
  requestId: Id,
  strategy: z.string(),
  /** Version of the triggering message, if it is stored. */
  trigger: Version.optional(),
  /** First and last version of the kept messages, and their number. */
  kept: z.object({ from: Version, to: Version, messages: z.int().nonnegative() }).optional(),
  pinned: z.array(Version).optional(),
  /** Versions of the events behind the fixed sections. */
  description: Version.optional(),
  context: Version.optional(),
  checkpoint: Version.optional(),
  recall: z.array(Version).optional(),
  /** Later versions were ignored. */
  asOf: Version.optional(),
  /** The newest version that it could hold: what the agent says next acknowledges up to here. */
  upTo: Version.optional(),
  /** Messages that arrived while the agent was away. */
  catchUp: z
    .object({ since: z.int().nonnegative(), messages: z.int().nonnegative(), omitted: z.int().nonnegative() })
    .optional(),
  omitted: z.int().nonnegative(),
  estimator: z.string(),
  /** Digest of the settings used. */
  configuration: z.string(),
  budget: z.int().positive(),
  tokens: z.int().nonnegative(),
  /** Our token counts: of everything, and of what stands behind the history. */
  counted: z.object({ all: z.int().nonnegative(), behindHistory: z.int().nonnegative() }).optional(),
  /** Expected count of the provider. */
  calibrated: z.int().nonnegative().optional(),
  model: z.string().optional(),
  /** It continues a request whose usage is known. */
  continues: z.boolean().optional(),
  /** Calibration of the model at this time; the next request starts from it. */
  calibration: UsageKnown.optional(),
})
export type RequestBuilt = z.infer<typeof RequestBuilt>
