/**
 * The structured summary that stands for a range of versions in one session, and the facts about its making.
 *
 * Every item names the versions it came from, so that a reader can go back to the original messages.
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
  /** Stays the same through all later checkpoints. */
  id: Id,
  section: CheckpointSection,
  text: z.string().min(1),
  /** Versions of the messages it came from, ascending. */
  sources: z.array(Version).min(1),
  /** Number of the checkpoint it first appeared in. */
  since: z.int().positive(),
  /** Number of the checkpoint that resolved it, and the messages that prove it. */
  resolved: z.object({ in: z.int().positive(), sources: z.array(Version).min(1) }).optional(),
  /** Never dropped, moved or reworded: a person's constraint, or pinned on request. */
  pinned: z.boolean().optional(),
})
export type CheckpointItem = z.infer<typeof CheckpointItem>

/**
 * State that code reads from the covered messages and carries from checkpoint to checkpoint, because a summary could
 * lose it.
 */
export const CarriedState = z
  .object({
    /** Tool calls without a result yet. */
    openCalls: z.array(z.object({ callId: Id, name: z.string(), version: Version })),
    filesRead: z.array(z.string()),
    filesChanged: z.array(z.string()),
    /** The person's newest messages, word for word up to a limit. */
    userMessages: z.array(z.object({ version: Version, text: z.string() })),
  })
  /** Other computed sections by name, each a list, oldest first. */
  .catchall(z.array(z.unknown()))
export type CarriedState = z.infer<typeof CarriedState>

/** State of a Ralph loop, as dagent's task sessions keep it. */
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
  /** Number of the checkpoint it is based on; 0 for the first. */
  base: z.int().nonnegative(),
  /** Range of versions it stands for, including its predecessors'. */
  from: Version,
  upTo: Version,
  /** Number of messages in that range. */
  messages: z.int().nonnegative(),
  /** The model that wrote it, or 'offline'. */
  author: z.string().min(1),
  items: z.array(CheckpointItem),
  carried: CarriedState,
  ralphLoop: RalphLoop.optional(),
  tokens: z.object({
    /** Size of this checkpoint as rendered in a request. */
    checkpoint: z.int().nonnegative(),
    /** Size of the last compaction's input. */
    lastCompactionInput: z.int().nonnegative(),
    /** Saved by all compactions of the session. */
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
  /** Version of the previous checkpoint's event, so that the history can be walked from the newest. */
  previous: Version.optional(),
  /** Number of messages it newly covers, and of those kept word for word behind them. */
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
  /** No model is asked from here on until a checkpoint makes progress again. */
  latched: z.boolean().optional(),
  /** The session changed meanwhile, so the summary was not needed any more. It is no failure of the model. */
  superseded: z.boolean().optional(),
  durationMs: z.int().nonnegative().optional(),
  /** Cost of the failed attempt. */
  cost: z.number().nonnegative().optional(),
})
export type CompactionFailed = z.infer<typeof CompactionFailed>
