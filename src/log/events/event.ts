/**
 * All facts a conversation's log can hold, and how stored ones are read.
 *
 * A stored event names its type and schema version. An older version is upcast step by step. An unknown type or newer
 * version passes through unchanged, so that a newer program's facts survive an older one.
 */
import { z } from 'zod'
import { CheckpointTaken, CompactionFailed, CompactionStarted } from './checkpoint.ts'
import { ContextGathered } from './context.ts'
import {
  BranchMerged,
  ConversationAnnotated,
  ConversationArchived,
  ConversationCompleted,
  ConversationCreated,
  ConversationReopened,
  ConversationRestored,
} from './conversation.ts'
import { DelegationEnded, DelegationReturned, DelegationStarted } from './delegation.ts'
import { SessionDescribed } from './description.ts'
import { ExecutionStarted, ExecutionStopped } from './execution.ts'
import { MessageAdded, MessageErased, MessagePinned } from './message.ts'
import { PhaseChanged, PhaseStuck } from './phase.ts'
import { QuestionAnswered, QuestionAsked, QuestionTaken } from './question.ts'
import { FileRead } from './read-file.ts'
import { ReferenceResolved } from './reference.ts'
import { RequestBuilt } from './request.ts'
import { LoopCleared, LoopDetected } from './routing-loop.ts'
import { RunEnded, RunStarted } from './run.ts'
import {
  SessionAcknowledged,
  SessionAnnotated,
  SessionArchived,
  SessionCleared,
  SessionConfigured,
  SessionCreated,
  SessionDeleted,
  SessionExpired,
  SessionLinked,
  SessionReopened,
  SessionReset,
} from './session.ts'
import { CompletionRecorded, TurnResolved, TurnStarted, TurnUndone } from './turn.ts'
import { DispatchEnded, DispatchStarted, GuardCleared, GuardTripped } from './work/dispatch.ts'
import { ConflictsFound, LandingEnded, LandingStarted } from './work/landing.ts'
import { IterationEnded, RalphEnded, RalphStarted } from './work/ralph.ts'
import { ReviewGiven } from './work/review.ts'
import {
  FeatureDescribed,
  TasksPlanned,
  WorkAttempted,
  WorkDescribed,
  WorkMoved,
  WorkReported,
  WorktreeCreated,
  WorktreeRemoved,
} from './work/work.ts'

export const ConversationEvent = z.discriminatedUnion('type', [
  ConversationCreated,
  ConversationAnnotated,
  ConversationCompleted,
  ConversationReopened,
  ConversationArchived,
  ConversationRestored,
  BranchMerged,
  MessageAdded,
  MessageErased,
  MessagePinned,
  SessionCreated,
  SessionCleared,
  SessionReset,
  SessionArchived,
  SessionReopened,
  SessionExpired,
  SessionDeleted,
  SessionAcknowledged,
  SessionAnnotated,
  SessionLinked,
  SessionConfigured,
  SessionDescribed,
  ContextGathered,
  CompactionStarted,
  CheckpointTaken,
  CompactionFailed,
  RequestBuilt,
  PhaseChanged,
  PhaseStuck,
  TurnStarted,
  CompletionRecorded,
  TurnResolved,
  TurnUndone,
  LoopDetected,
  LoopCleared,
  DelegationStarted,
  DelegationReturned,
  DelegationEnded,
  FileRead,
  ReferenceResolved,
  ExecutionStarted,
  ExecutionStopped,
  RunStarted,
  RunEnded,
  QuestionAsked,
  QuestionAnswered,
  QuestionTaken,
  RalphStarted,
  IterationEnded,
  RalphEnded,
  ReviewGiven,
  LandingStarted,
  ConflictsFound,
  LandingEnded,
  FeatureDescribed,
  TasksPlanned,
  WorkDescribed,
  WorkMoved,
  WorkReported,
  WorkAttempted,
  WorktreeCreated,
  WorktreeRemoved,
  DispatchStarted,
  DispatchEnded,
  GuardTripped,
  GuardCleared,
])
export type ConversationEvent = z.infer<typeof ConversationEvent>

/** An event of an unknown type or newer version, kept unchanged. */
export interface UnknownEvent {
  type: 'unknown'
  storedType: string
  storedSchema: number
  data: unknown
}

/** An event whose content was erased on request. That it existed, when and by whom, stays provable. */
export interface ErasedEvent {
  type: 'erased'
  storedType: string
  messageId: string | undefined
}

/** An event whose stored bytes do not match what was written. The rest of the log is unharmed. */
export interface DamagedEvent {
  type: 'damaged'
  storedType: string
  messageId: string | undefined
  reason: string
}

export type StoredEvent = ConversationEvent | UnknownEvent | ErasedEvent | DamagedEvent

/** Upcasts by type: the function at index n turns schema version n + 1 into n + 2. */
export type Upcasts = Partial<Record<string, ReadonlyArray<(old: Record<string, unknown>) => Record<string, unknown>>>>
const upcasts: Upcasts = {}

const knownTypes: ReadonlySet<string> = new Set(ConversationEvent.options.map(option => option.shape.type.value))

/** Returns the schema version that `type` is written with. */
export function schemaOf(type: string, casts: Upcasts = upcasts): number {
  return (casts[type]?.length ?? 0) + 1
}

/**
 * Reads a stored event. The store has checked the bytes, so an event of the current schema is taken as it is. An upcast
 * one is validated, because an upcast can be wrong.
 */
export function revive(storedType: string, storedSchema: number, data: unknown, casts: Upcasts = upcasts): StoredEvent {
  const today = schemaOf(storedType, casts)
  if (!knownTypes.has(storedType) || storedSchema > today || typeof data !== 'object' || data === null) {
    return { type: 'unknown', storedType, storedSchema, data }
  }
  if (storedSchema === today) return Object.assign(data, { type: storedType }) as ConversationEvent
  let body = data as Record<string, unknown>
  for (const cast of (casts[storedType] ?? []).slice(storedSchema - 1)) body = cast(body)
  return ConversationEvent.parse({ ...body, type: storedType })
}
