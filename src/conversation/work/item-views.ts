/** Work items as callers and the API see them. */
import { z } from 'zod'
import { FeatureState, TaskState } from '../../log/events/work/work.ts'
import { WorkItem } from '../../log/events/work-item.ts'
import { ConversationStatus } from '../../log/views/conversation.ts'
import { BeadWork, FeatureWork, GraphTask, WorkAttempts, WorkStanding, WorkState } from '../../log/views/work/work.ts'

const ids = z.array(z.string()).readonly()

const ofConversation = {
  conversationId: z.string(),
  status: ConversationStatus,
  version: z.int(),
  createdAt: z.string(),
  /** ISO time of the newest event. */
  activeAt: z.string(),
}

/** A feature in a list: without its long texts. */
export const FeatureSummary = FeatureWork.omit({
  type: true,
  goalAt: true,
  specAt: true,
  tasks: true,
  plannedAt: true,
})
  .extend({
    featureId: z.string(),
    ...ofConversation,
    /** Number of tasks in its graph. */
    tasks: z.int(),
  })
  .meta({ id: 'FeatureSummary' })
export type FeatureSummary = z.infer<typeof FeatureSummary>

export const Feature = FeatureSummary.extend({ goal: z.string().optional(), spec: z.string().optional() }).meta({
  id: 'Feature',
})
export type Feature = z.infer<typeof Feature>

/** A task in its graph. */
export const TaskNode = GraphTask.omit({ describedAt: true })
  .extend(WorkStanding.partial().shape)
  .extend({
    featureId: z.string(),
    state: TaskState,
    /** For a failed or blocked task: the state in which that happened. */
    heldIn: TaskState.optional(),
    /** Its own, or its feature's. */
    priority: z.int(),
    dependents: ids,
    /** Dependencies that are not merged yet. */
    waitsFor: ids,
    /** In planning, and waits for nothing. */
    isReady: z.boolean(),
    /** Absent before its first move. */
    conversationId: z.string().optional(),
    /** Version of its conversation. */
    version: z.int().optional(),
  })
  .meta({ id: 'TaskNode' })
export type TaskNode = z.infer<typeof TaskNode>

export const Task = TaskNode.extend({
  description: z.string().optional(),
  /** Sessions on it, newest first, with the state each belongs to. */
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
}).meta({ id: 'Task' })
export type Task = z.infer<typeof Task>

export const TaskGraph = z
  .object({
    featureId: z.string(),
    name: z.string(),
    state: FeatureState,
    /** In planning order. */
    tasks: z.array(TaskNode),
    /** Ids; each layer depends only on those before it. */
    layers: z.array(z.array(z.string())),
    /** Ids of the tasks that may begin. */
    ready: z.array(z.string()),
    /** The whole graph in words. */
    summary: z.string(),
    /** Version of the feature's conversation. */
    version: z.int(),
  })
  .meta({ id: 'TaskGraph' })
export type TaskGraph = z.infer<typeof TaskGraph>

/** A bead in a list: without its description. */
export const BeadSummary = BeadWork.omit({ type: true, descriptionAt: true })
  .extend({ beadId: z.string(), ...ofConversation })
  .meta({ id: 'BeadSummary' })
export type BeadSummary = z.infer<typeof BeadSummary>

export const Bead = BeadSummary.extend({
  description: z.string().optional(),
  /** Dependencies that are not done yet, with their states. */
  waitsFor: z.array(z.object({ id: z.string(), title: z.string(), state: z.string() })).readonly(),
}).meta({ id: 'Bead' })
export type Bead = z.infer<typeof Bead>

export const ReadyItem = z
  .object({
    item: WorkItem,
    title: z.string(),
    state: z.string(),
    priority: z.int(),
    /** The assigned agent, or the kind that its state calls for. */
    agent: z.string(),
    /** ISO time it entered its state; absent before a task's first move. */
    since: z.string().optional(),
    attempts: WorkAttempts.optional(),
    /** Absent before a task's first move. */
    conversationId: z.string().optional(),
    /** Version of its conversation. */
    version: z.int().optional(),
  })
  .meta({ id: 'ReadyItem' })
type AnyReadyItem = z.infer<typeof ReadyItem>
export type ReadyItem = Omit<AnyReadyItem, 'item'> & { item: Extract<WorkItem, { type: 'task' | 'bead' }> }

/** State of a work item by its own conversation; `work` is null before a task's first move. */
export const WorkItemState = z
  .object({
    item: WorkItem,
    conversationId: z.string().optional(),
    version: z.int(),
    work: WorkState.nullable(),
  })
  .meta({ id: 'WorkItemState' })
