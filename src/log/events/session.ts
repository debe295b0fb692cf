/** Facts about one agent's session on a conversation. */
import { z } from 'zod'
import { BranchPoint } from './conversation.ts'
import { Id } from './id.ts'
import { Metadata } from './metadata.ts'
import { Strategy } from './strategy.ts'

/** Sharing between the sessions of one work item: nothing, checkpoints, or messages as well. */
export const Sharing = z.enum(['separate', 'checkpoint', 'messages'])
export type Sharing = z.infer<typeof Sharing>

const OfSession = { sessionId: Id }

export const SessionCreated = z.object({
  ...OfSession,
  type: z.literal('session.created'),
  agentName: Id,
  agentType: Id,
  /** For task sessions: the task's state, such as `in_dev`. */
  taskState: Id.optional(),
  sharing: Sharing,
  /** Lifetime without use; null never expires. */
  expiresInMs: z.int().positive().nullable(),
  /** The session it replaces, which expired or was archived or deleted. */
  replaces: Id.optional(),
  /** Cursor of its expired predecessor: the agent was away and is not new. */
  acknowledged: z.int().nonnegative().optional(),
  /** In a branch: its branch point, and the same agent's session there that this one continues. */
  branchOf: BranchPoint.optional(),
  continues: z
    .object({
      sessionIds: z.array(Id).min(1),
      /** Fields of that session's head at the branch point that are taken over. */
      head: z.record(z.string(), z.unknown()),
    })
    .optional(),
  metadata: Metadata.optional(),
})
export type SessionCreated = z.infer<typeof SessionCreated>

/** The window starts after this event. The log keeps everything before it. */
export const SessionCleared = z.object({ ...OfSession, type: z.literal('session.cleared') })
export type SessionCleared = z.infer<typeof SessionCleared>

/** Like cleared, but the messages at `kept` (the first system message, if any) stay in the window. */
export const SessionReset = z.object({
  ...OfSession,
  type: z.literal('session.reset'),
  kept: z.array(z.int().positive()),
})
export type SessionReset = z.infer<typeof SessionReset>

export const SessionArchived = z.object({
  ...OfSession,
  type: z.literal('session.archived'),
  reason: z.string().optional(),
})
export type SessionArchived = z.infer<typeof SessionArchived>

export const SessionReopened = z.object({ ...OfSession, type: z.literal('session.reopened') })
export type SessionReopened = z.infer<typeof SessionReopened>

export const SessionExpired = z.object({
  ...OfSession,
  type: z.literal('session.expired'),
  /** ISO time of its last use. */
  lastActiveAt: z.string(),
})
export type SessionExpired = z.infer<typeof SessionExpired>

/** Hidden from lists. The log keeps everything. */
export const SessionDeleted = z.object({
  ...OfSession,
  type: z.literal('session.deleted'),
  reason: z.string().optional(),
})
export type SessionDeleted = z.infer<typeof SessionDeleted>

/** The agent has processed everything it sees up to this version; later messages are new to it. */
export const SessionAcknowledged = z.object({
  ...OfSession,
  type: z.literal('session.acknowledged'),
  upTo: z.int().nonnegative(),
})
export type SessionAcknowledged = z.infer<typeof SessionAcknowledged>

/** Metadata merged key by key over the old (null removes a key). */
export const SessionAnnotated = z.object({ ...OfSession, type: z.literal('session.annotated'), metadata: Metadata })
export type SessionAnnotated = z.infer<typeof SessionAnnotated>

/**
 * Request settings of this session that differ from the project's. Merged key by key; null returns to the project's.
 */
export const SessionConfigured = z.object({
  ...OfSession,
  type: z.literal('session.configured'),
  requests: z.strictObject({
    strategy: Strategy.nullable().optional(),
    budget: z.int().positive().nullable().optional(),
    /** `provider:model`: determines limits and token counting. */
    model: z.string().min(1).nullable().optional(),
    recall: z.boolean().nullable().optional(),
  }),
})
export type SessionConfigured = z.infer<typeof SessionConfigured>

/** The session's id in another system, such as a Claude session id. Returned on the next run. */
export const SessionLinked = z.object({
  ...OfSession,
  type: z.literal('session.linked'),
  system: Id,
  outsideId: Id.nullable(),
})
export type SessionLinked = z.infer<typeof SessionLinked>
