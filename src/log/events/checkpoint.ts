/**
 * The structured summary that stands for a range of versions in one session, and how it came to be.
 *
 * Every item names the versions it came from, so that a reader can always go back to what was said.
 */
import { z } from 'zod'
import { Id } from './id.ts'

export const checkpointSections = [
  'goal',
  'constraints',
  'completed',
  'inProgress',
  'pending',
  'decisions',
  'blockers',
  'deadEnds',
  'facts',
] as const
export const CheckpointSection = z.enum(checkpointSections)
export type CheckpointSection = z.infer<typeof CheckpointSection>

const Version = z.int().positive()

export const CheckpointItem = z.object({
  /** Stable through every later checkpoint. */
  id: Id,
  section: CheckpointSection,
  text: z.string().min(1),
  /** Versions of the messages it came from, ascending. */
  sources: z.array(Version).min(1),
  /** Number of the checkpoint it first stood in. */
  since: z.int().positive(),
  /** Number of the checkpoint that resolved it, and the messages that show it. */
  resolved: z.object({ in: z.int().positive(), sources: z.array(Version).min(1) }).optional(),
  /** Never dropped, moved or reworded: a person's constraint, or pinned on demand. */
  pinned: z.boolean().optional(),
})
export type CheckpointItem = z.infer<typeof CheckpointItem>

/**
 * What code reads off the covered messages itself and carries on from checkpoint to checkpoint: a summary must not be
 * trusted with it.
 */
export const CarriedState = z
  .object({
    /** Tool calls without a result yet. */
    openCalls: z.array(z.object({ callId: Id, name: z.string(), version: Version })),
    filesRead: z.array(z.string()),
    filesChanged: z.array(z.string()),
    /** The newest of the person's messages, word for word up to a bound. */
    userMessages: z.array(z.object({ version: Version, text: z.string() })),
  })
  /** Other computed sections by name, each a list, oldest first. */
  .catchall(z.array(z.unknown()))
export type CarriedState = z.infer<typeof CarriedState>

/** Seed 002: where a Ralph loop stands. */
export const RalphLoop = z.object({
  currentIteration: z.int().nonnegative(),
  passedChecks: z.array(z.string()),
  failedChecks: z.array(z.string()),
  lastError: z.string().optional(),
})
export type RalphLoop = z.infer<typeof RalphLoop>

export const Checkpoint = z.object({
  /** 1, 2, 3 … within the session. */
  number: z.int().positive(),
  /** Number of the checkpoint it was made from; 0 for the first. */
  base: z.int().nonnegative(),
  /** The range of versions it stands for, with all its predecessors. */
  from: Version,
  upTo: Version,
  /** How many messages that is. */
  messages: z.int().nonnegative(),
  /** The model that wrote it, or 'offline'. */
  author: z.string().min(1),
  items: z.array(CheckpointItem),
  carried: CarriedState,
  ralphLoop: RalphLoop.optional(),
  tokens: z.object({
    /** Of this checkpoint as it stands in a request. */
    checkpoint: z.int().nonnegative(),
    /** Of what the last compaction read. */
    lastCompactionInput: z.int().nonnegative(),
    /** Saved by all compactions of the session so far. */
    totalSaved: z.int(),
  }),
})
export type Checkpoint = z.infer<typeof Checkpoint>

export const CompactionReason = z.enum(['trigger', 'background', 'every-n', 'forced', 'overflow'])
export type CompactionReason = z.infer<typeof CompactionReason>

const OfCompaction = { sessionId: Id, compactionId: Id }

export const CompactionStarted = z.object({
  ...OfCompaction,
  type: z.literal('compaction.started'),
  reason: CompactionReason,
  /** Number of the checkpoint it starts from; 0 for none. */
  base: z.int().nonnegative(),
  upTo: Version,
  messages: z.int().nonnegative(),
  tokensBefore: z.int().nonnegative(),
  author: z.string().min(1),
})
export type CompactionStarted = z.infer<typeof CompactionStarted>

export const CheckpointTaken = z.object({
  ...OfCompaction,
  type: z.literal('checkpoint.taken'),
  checkpoint: Checkpoint,
  /** Version of the event of the checkpoint before it: the history is a walk from the newest. */
  previous: Version.optional(),
  /** How many messages it newly stands for, and how many behind them stay word for word. */
  messages: z.int().nonnegative(),
  kept: z.int().nonnegative().optional(),
  tokensBefore: z.int().nonnegative(),
  tokensAfter: z.int().nonnegative(),
  durationMs: z.int().nonnegative(),
  cost: z.number().nonnegative().optional(),
})
export type CheckpointTaken = z.infer<typeof CheckpointTaken>

export const CompactionFailed = z.object({
  ...OfCompaction,
  type: z.literal('compaction.failed'),
  reason: z.string(),
  /** From here on no model is asked until a checkpoint makes progress again. */
  latched: z.boolean().optional(),
  durationMs: z.int().nonnegative().optional(),
  /** What was paid all the same. */
  cost: z.number().nonnegative().optional(),
})
export type CompactionFailed = z.infer<typeof CompactionFailed>
