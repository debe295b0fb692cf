/** Facts about one agent's session on a conversation. */
import { z } from 'zod'
import { BranchPoint } from './conversation.ts'
import { Id } from './id.ts'
import { Metadata } from './metadata.ts'
import { Strategy } from './strategy.ts'

/**
 * What the sessions of one work item share: nothing, their checkpoints, or their messages too.
 */
export const Sharing = z.enum(['separate', 'checkpoint', 'messages'])
export type Sharing = z.infer<typeof Sharing>

const OfSession = { sessionId: Id }

export const SessionCreated = z.object({
  ...OfSession,
  type: z.literal('session.created'),
  agentName: Id,
  agentType: Id,
  /** For task sessions: the state of the task this session belongs to, such as `in_dev`. */
  taskState: Id.optional(),
  sharing: Sharing,
  /** How long the session lives without use; null for ever. */
  expiresInMs: z.int().positive().nullable(),
  /** The session this one replaces, expired or archived or deleted before. */
  replaces: Id.optional(),
  /** What its predecessor, gone for want of use, had acknowledged: its agent was away, not new. */
  acknowledged: z.int().nonnegative().optional(),
  /** In a branch: where the conversation comes from, and the session of the same agent there that this one goes on from. */
  branchOf: BranchPoint.optional(),
  continues: z
    .object({
      sessionIds: z.array(Id).min(1),
      /** What that session's head said at the branch point, in the fields that are taken over. */
      head: z.record(z.string(), z.unknown()),
    })
    .optional(),
  metadata: Metadata.optional(),
})
export type SessionCreated = z.infer<typeof SessionCreated>

/** The window starts after this event. The log keeps what came before. */
export const SessionCleared = z.object({ ...OfSession, type: z.literal('session.cleared') })
export type SessionCleared = z.infer<typeof SessionCleared>

/** Like cleared, but the messages at `kept` (the first system message, where there was one) stay in the window. */
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
  /** When it was last used, as an ISO time. */
  lastActiveAt: z.string(),
})
export type SessionExpired = z.infer<typeof SessionExpired>

/** Hidden from lists. The log keeps all of it. */
export const SessionDeleted = z.object({
  ...OfSession,
  type: z.literal('session.deleted'),
  reason: z.string().optional(),
})
export type SessionDeleted = z.infer<typeof SessionDeleted>

/** The agent has taken in what it sees up to this version: what comes later is new to it. */
export const SessionAcknowledged = z.object({
  ...OfSession,
  type: z.literal('session.acknowledged'),
  upTo: z.int().nonnegative(),
})
export type SessionAcknowledged = z.infer<typeof SessionAcknowledged>

/** Metadata merged key by key over the old (null removes a key). */
export const SessionAnnotated = z.object({ ...OfSession, type: z.literal('session.annotated'), metadata: Metadata })
export type SessionAnnotated = z.infer<typeof SessionAnnotated>

/** How requests of this session differ from the project's. Merged key by key over the old; null goes back to the project's. */
export const SessionConfigured = z.object({
  ...OfSession,
  type: z.literal('session.configured'),
  requests: z.strictObject({
    strategy: Strategy.nullable().optional(),
    budget: z.int().positive().nullable().optional(),
    /** `provider:model`: whose limits and whose way of counting hold. */
    model: z.string().min(1).nullable().optional(),
    recall: z.boolean().nullable().optional(),
  }),
})
export type SessionConfigured = z.infer<typeof SessionConfigured>

/** An id the session has elsewhere, such as a Claude session id, handed back on the next run. */
export const SessionLinked = z.object({
  ...OfSession,
  type: z.literal('session.linked'),
  system: Id,
  outsideId: Id.nullable(),
})
export type SessionLinked = z.infer<typeof SessionLinked>
