/** Facts about a conversation as a whole. */
import { z } from 'zod'
import { Delegated } from './delegation.ts'
import { Id } from './id.ts'
import { Metadata } from './metadata.ts'
import { WorkItem } from './work-item.ts'

/**
 * The point where a branch leaves its parent. A branch shares the parent's events up to this version and continues its
 * numbering.
 */
export const BranchPoint = z.object({ conversationId: Id, version: z.int().positive() })
export type BranchPoint = z.infer<typeof BranchPoint>

export const ConversationCreated = z.object({
  type: z.literal('conversation.created'),
  title: z.string(),
  workItem: WorkItem,
  phase: Id.optional(),
  /** Time the first phase may take before it counts as stuck. */
  phaseTimeoutMs: z.int().positive().optional(),
  /** The delegating conversation, if there is one. */
  delegated: Delegated.optional(),
  /** Identifies the conversation in traces of other systems. */
  tracingId: Id.optional(),
  metadata: Metadata.optional(),
  branchOf: BranchPoint.optional(),
  /** Fields of the parent's head at the branch point that the branch takes over. */
  inherits: z.record(z.string(), z.unknown()).optional(),
})
export type ConversationCreated = z.infer<typeof ConversationCreated>

/** A new title, or metadata merged key by key over the old (null removes a key). */
export const ConversationAnnotated = z.object({
  type: z.literal('conversation.annotated'),
  title: z.string().optional(),
  metadata: Metadata.optional(),
})
export type ConversationAnnotated = z.infer<typeof ConversationAnnotated>

export const ConversationCompleted = z.object({
  type: z.literal('conversation.completed'),
  summary: z.string().optional(),
})
export type ConversationCompleted = z.infer<typeof ConversationCompleted>

export const ConversationReopened = z.object({
  type: z.literal('conversation.reopened'),
  reason: z.string().optional(),
})
export type ConversationReopened = z.infer<typeof ConversationReopened>

export const ConversationArchived = z.object({
  type: z.literal('conversation.archived'),
  reason: z.string().optional(),
})
export type ConversationArchived = z.infer<typeof ConversationArchived>

export const ConversationRestored = z.object({
  type: z.literal('conversation.restored'),
  reason: z.string().optional(),
  /** The sweep leaves it alone for the full period again. */
  stays: z.literal(true).optional(),
})
export type ConversationRestored = z.infer<typeof ConversationRestored>

/** The conclusion of a branch was merged into its parent. */
export const BranchMerged = z.object({
  type: z.literal('branch.merged'),
  /** The conversation it was merged into, and the message that holds it. */
  into: Id,
  messageId: Id,
})
export type BranchMerged = z.infer<typeof BranchMerged>
