/** What answers about work items are made of. */
import { z } from 'zod'
import { Metadata } from '../../log/events/metadata.ts'
import { AttemptOutcome, BeadState, FeatureState, TaskState, WorkBy } from '../../log/events/work/work.ts'
import { WorkItem } from '../../log/events/work-item.ts'
import { named } from './common.ts'

const Ids = z.array(z.string()).readonly()
const By = WorkBy.optional()
const Data = Metadata.optional()

export const Attempts = named(
  'WorkAttempts',
  z.object({
    count: z.int(),
    failed: z.int(),
    notBefore: z.string().optional(),
    last: z.object({
      outcome: AttemptOutcome,
      reason: z.string().optional(),
      by: By,
      data: Data,
      at: z.string(),
      version: z.int(),
    }),
  }),
)

const standing = {
  since: z.string(),
  move: z
    .object({
      from: z.string(),
      to: z.string(),
      reason: z.string().optional(),
      by: By,
      data: Data,
      version: z.int(),
    })
    .optional(),
  visits: z.record(z.string(), z.int()).readonly(),
  result: z.object({ summary: z.string(), by: By, data: Data, version: z.int(), at: z.string() }).optional(),
  attempts: Attempts.optional(),
  worktree: z
    .object({
      path: z.string(),
      branch: z.string(),
      base: z.string().optional(),
      data: Data,
      version: z.int(),
    })
    .optional(),
}

const conversation = {
  conversationId: z.string(),
  status: z.enum(['active', 'completed', 'archived']),
  version: z.int(),
  createdAt: z.string(),
  activeAt: z.string(),
}

export const FeatureSummary = named(
  'FeatureSummary',
  z.object({
    featureId: z.string(),
    ...conversation,
    ...standing,
    name: z.string(),
    state: FeatureState,
    baseBranch: z.string().optional(),
    priority: z.int(),
    data: Metadata,
    /** How many tasks its graph has. */
    tasks: z.int(),
  }),
)
export const Feature = named(
  'Feature',
  FeatureSummary.extend({ goal: z.string().optional(), spec: z.string().optional() }),
)

export const TaskNode = named(
  'TaskNode',
  z.object({
    featureId: z.string(),
    taskId: z.string(),
    title: z.string(),
    state: TaskState,
    heldIn: TaskState.optional(),
    priority: z.int(),
    agent: z.string().optional(),
    data: Data,
    dependencies: Ids,
    dependents: Ids,
    /** Dependencies that are not merged yet. */
    waitsFor: Ids,
    isReady: z.boolean(),
    /** Absent until it moved. */
    conversationId: z.string().optional(),
    version: z.int().optional(),
    ...standing,
    since: z.string().optional(),
    visits: standing.visits.optional(),
  }),
)
export const Task = named(
  'Task',
  TaskNode.extend({
    description: z.string().optional(),
    sessions: z
      .array(
        z.object({
          id: z.string(),
          agentName: z.string(),
          agentType: z.string(),
          taskState: z.string().optional(),
          status: z.string(),
        }),
      )
      .readonly(),
  }),
)
export const TaskGraph = named(
  'TaskGraph',
  z.object({
    featureId: z.string(),
    name: z.string(),
    state: FeatureState,
    tasks: z.array(TaskNode),
    /** Ids; each layer depends only on those before it. */
    layers: z.array(z.array(z.string())),
    ready: z.array(z.string()),
    summary: z.string(),
    version: z.int(),
  }),
)

export const BeadSummary = named(
  'BeadSummary',
  z.object({
    beadId: z.string(),
    ...conversation,
    ...standing,
    title: z.string(),
    state: BeadState,
    priority: z.int(),
    dependencies: Ids,
    agent: z.string().optional(),
    kind: z.string().optional(),
    labels: Ids.optional(),
    data: Metadata,
  }),
)
export const Bead = named(
  'Bead',
  BeadSummary.extend({
    description: z.string().optional(),
    waitsFor: z.array(z.object({ id: z.string(), title: z.string(), state: z.string() })).readonly(),
  }),
)

export const ReadyItem = named(
  'ReadyItem',
  z.object({
    item: WorkItem,
    title: z.string(),
    state: z.string(),
    priority: z.int(),
    /** The one it was given to, or the kind its state calls for. */
    agent: z.string(),
    since: z.string().optional(),
    attempts: Attempts.optional(),
    conversationId: z.string().optional(),
    version: z.int().optional(),
  }),
)

/** What a work item's own conversation says of it; the `work` of a task that never moved is null. */
export const WorkItemState = named(
  'WorkItemState',
  z.object({
    item: WorkItem,
    conversationId: z.string().optional(),
    version: z.int(),
    work: z.looseObject({ type: z.string(), state: z.string(), ...standing }).nullable(),
  }),
)
