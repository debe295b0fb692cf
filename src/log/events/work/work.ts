/**
 * Facts about work items: descriptions of features and beads, the task graph, and changes of state.
 *
 * The graph stands in the feature's conversation, so that each change is one fact. The state of a work item stands in
 * its own conversation. Each fact names its item, so that followers of a project need no look-up.
 */
import { z } from 'zod'
import { Id } from '../id.ts'
import { Metadata } from '../metadata.ts'
import { WorkItem } from '../work-item.ts'

export const FeatureState = z.enum(['planning', 'in_progress', 'stopped', 'done'])
export type FeatureState = z.infer<typeof FeatureState>

export const TaskState = z.enum([
  'planning',
  'in_dev',
  'dev_complete',
  'in_qa',
  'qa_complete',
  'ready_for_merge',
  'merged',
  'failed',
  'blocked',
])
export type TaskState = z.infer<typeof TaskState>

/** Waiting for others is not a state of a bead: its dependencies say so. */
export const BeadState = z.enum(['open', 'in_progress', 'done', 'parked'])
export type BeadState = z.infer<typeof BeadState>

/** 0 is the most urgent. */
export const Priority = z.int().min(0).max(9)
export const usualPriority = 2

export const FeatureDescribed = z.object({
  type: z.literal('feature.described'),
  featureId: Id,
  /** Fields that are present are new; the others stay. */
  name: z.string().min(1).optional(),
  goal: z.string().optional(),
  spec: z.string().optional(),
  /** The branch its tasks are merged into. */
  baseBranch: z.string().optional(),
  priority: Priority.optional(),
  /** Merged key by key over the old (null removes a key). */
  data: Metadata.optional(),
})
export type FeatureDescribed = z.infer<typeof FeatureDescribed>

/** A task of the graph. */
export const PlannedTask = z.object({
  taskId: Id,
  title: z.string().min(1),
  description: z.string().optional(),
  /** Tasks of the same feature that must be merged first. */
  dependencies: z.array(Id),
  priority: Priority.optional(),
  /** The agent for it, if not the default one. */
  agent: Id.optional(),
  data: Metadata.optional(),
})
export type PlannedTask = z.infer<typeof PlannedTask>

/** One atomic change of the task graph. Tasks are complete here, except for unchanged descriptions. */
export const TasksPlanned = z.object({
  type: z.literal('tasks.planned'),
  featureId: Id,
  added: z.array(PlannedTask),
  changed: z.array(PlannedTask),
  removed: z.array(Id),
  reason: z.string().optional(),
})
export type TasksPlanned = z.infer<typeof TasksPlanned>

/** Describes a bead. Fields that are present are new; the others stay. */
export const WorkDescribed = z.object({
  type: z.literal('work.described'),
  item: WorkItem,
  title: z.string().min(1).optional(),
  description: z.string().optional(),
  priority: Priority.optional(),
  /** Other beads that must be done first. */
  dependencies: z.array(Id).optional(),
  agent: Id.optional(),
  /** task, bug, epic … */
  kind: z.string().optional(),
  labels: z.array(z.string()).optional(),
  /** Merged key by key over the old (null removes a key). */
  data: Metadata.optional(),
})
export type WorkDescribed = z.infer<typeof WorkDescribed>

/** The agent that did it, and its session. */
export const WorkBy = z.object({ agent: Id.optional(), sessionId: Id.optional() })
export type WorkBy = z.infer<typeof WorkBy>

export const WorkMoved = z.object({
  type: z.literal('work.moved'),
  item: WorkItem,
  from: z.string(),
  to: z.string(),
  /** The reason; for a return from QA, the required changes. */
  reason: z.string().optional(),
  by: WorkBy.optional(),
  data: Metadata.optional(),
})
export type WorkMoved = z.infer<typeof WorkMoved>

/** The result of the work or of a part of it. */
export const WorkReported = z.object({
  type: z.literal('work.reported'),
  item: WorkItem,
  summary: z.string(),
  by: WorkBy.optional(),
  data: Metadata.optional(),
})
export type WorkReported = z.infer<typeof WorkReported>

export const AttemptOutcome = z.enum(['done', 'failed', 'aborted'])
export type AttemptOutcome = z.infer<typeof AttemptOutcome>

/** An attempt and its outcome. */
export const WorkAttempted = z.object({
  type: z.literal('work.attempted'),
  item: WorkItem,
  outcome: AttemptOutcome,
  reason: z.string().optional(),
  /** ISO time before which it is not retried. */
  notBefore: z.string().optional(),
  by: WorkBy.optional(),
  data: Metadata.optional(),
})
export type WorkAttempted = z.infer<typeof WorkAttempted>

/** A git worktree was created for it. */
export const WorktreeCreated = z.object({
  type: z.literal('worktree.created'),
  item: WorkItem,
  /** Relative to the project's root. */
  path: z.string().min(1),
  branch: z.string().min(1),
  /** The commit it started from. */
  base: z.string().optional(),
  data: Metadata.optional(),
})
export type WorktreeCreated = z.infer<typeof WorktreeCreated>

export const WorktreeRemoved = z.object({
  type: z.literal('worktree.removed'),
  item: WorkItem,
  path: z.string().min(1),
  reason: z.string().optional(),
})
export type WorktreeRemoved = z.infer<typeof WorktreeRemoved>
