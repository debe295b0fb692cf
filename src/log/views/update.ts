/**
 * Updates for subscribers: every event of a project, named by kind of change. One event gives one update.
 *
 * The names are those of dagent and TENEX (`session:updated` with its actions).
 */
import type { CheckpointTaken, CompactionFailed, CompactionStarted } from '../events/checkpoint.ts'
import type { RecordedEvent } from '../events/recorded-event.ts'
import type { WorkItem } from '../events/work-item.ts'
import { type Message, messageOf } from './message.ts'

interface UpdateBase {
  project: string
  conversationId: string
  version: number
  /** Resumes a subscription after this update. */
  position: string
  at: string
  event: RecordedEvent
}

type SessionUpdated = UpdateBase & { name: 'session:updated'; sessionId: string } & (
    | { action: 'created'; agentName: string; agentType: string; replaces?: string }
    | { action: 'message_added'; message: Message }
    | { action: 'cleared'; kept: readonly number[] }
    | {
        action:
          | 'archived'
          | 'reopened'
          | 'expired'
          | 'deleted'
          | 'acknowledged'
          | 'annotated'
          | 'linked'
          | 'configured'
          | 'described'
          | 'context'
          | 'request'
          | 'run'
      }
  )

type ConversationUpdated = UpdateBase & { name: 'conversation:updated' } & (
    | { action: 'message_added'; message: Message }
    | {
        action:
          | 'created'
          | 'annotated'
          | 'completed'
          | 'reopened'
          | 'archived'
          | 'restored'
          | 'erased'
          | 'pinned'
          | 'merged'
          | 'phase'
          | 'turn'
          | 'loop'
          | 'delegation'
          | 'file_read'
          | 'reference'
          | 'execution'
          | 'question'
          | 'work'
          | 'recorded'
      }
  )

/**
 * Compaction under dagent's names. `compaction` has messages, tokens before and after, checkpoint, duration and cost.
 */
type CompactionUpdated = UpdateBase & { sessionId: string } & (
    | { name: 'session:compaction-start'; action: 'started'; compaction: CompactionStarted }
    | { name: 'session:compaction-complete'; action: 'completed'; compaction: CheckpointTaken; reclaimed: number }
    | { name: 'session:compaction-error'; action: 'failed'; compaction: CompactionFailed }
  )

/** Changes of work items: descriptions, task graph, states. */
type WorkUpdated = UpdateBase & { name: 'work:updated'; item: WorkItem } & (
    | { action: 'moved'; from: string; to: string; reason?: string }
    | { action: 'described' | 'planned' | 'reported' | 'attempted' | 'worktree' | 'dispatch' | 'guard' }
  )

export type Update = SessionUpdated | ConversationUpdated | CompactionUpdated | WorkUpdated

/** All names of updates. */
export const updateNames: ReadonlyArray<Update['name']> = [
  'session:updated',
  'conversation:updated',
  'session:compaction-start',
  'session:compaction-complete',
  'session:compaction-error',
  'work:updated',
]

/** Updates with a given name. */
export type UpdateNamed<Name extends Update['name']> = Extract<Update, { name: Name }>

type LogEvent = RecordedEvent['event']
type EventType = LogEvent['type']
type ActionOf<U extends Update> = U extends unknown ? U['action'] : never

/** Updates that carry only a session's id. */
const sessionActions = {
  'session.archived': 'archived',
  'session.reopened': 'reopened',
  'session.expired': 'expired',
  'session.deleted': 'deleted',
  'session.acknowledged': 'acknowledged',
  'session.annotated': 'annotated',
  'session.linked': 'linked',
  'session.configured': 'configured',
  'session.described': 'described',
  'context.gathered': 'context',
  'request.built': 'request',
  'run.started': 'run',
  'run.ended': 'run',
} as const satisfies Partial<Record<EventType, ActionOf<SessionUpdated>>>

/** Updates that carry only the conversation. */
const conversationActions = {
  'message.pinned': 'pinned',
  'branch.merged': 'merged',
  'conversation.created': 'created',
  'conversation.annotated': 'annotated',
  'conversation.completed': 'completed',
  'conversation.reopened': 'reopened',
  'conversation.archived': 'archived',
  'conversation.restored': 'restored',
  'phase.changed': 'phase',
  'phase.stuck': 'phase',
  'turn.started': 'turn',
  'completion.recorded': 'turn',
  'turn.resolved': 'turn',
  'turn.undone': 'turn',
  'loop.detected': 'loop',
  'loop.cleared': 'loop',
  'delegation.started': 'delegation',
  'delegation.returned': 'delegation',
  'delegation.ended': 'delegation',
  'file.read': 'file_read',
  'reference.resolved': 'reference',
  'execution.started': 'execution',
  'execution.stopped': 'execution',
  'question.asked': 'question',
  'question.answered': 'question',
  'question.taken': 'question',
  'ralph.started': 'work',
  'iteration.ended': 'work',
  'ralph.ended': 'work',
  'review.given': 'work',
  'landing.started': 'work',
  'conflicts.found': 'work',
  'landing.ended': 'work',
  'message.erased': 'erased',
  erased: 'erased',
  unknown: 'recorded',
  damaged: 'recorded',
} as const satisfies Partial<Record<EventType, ActionOf<ConversationUpdated>>>

/** Updates that carry only a work item. */
const workActions = {
  'feature.described': 'described',
  'tasks.planned': 'planned',
  'work.described': 'described',
  'work.reported': 'reported',
  'work.attempted': 'attempted',
  'dispatch.started': 'dispatch',
  'dispatch.ended': 'dispatch',
  'guard.tripped': 'guard',
  'guard.cleared': 'guard',
  'worktree.created': 'worktree',
  'worktree.removed': 'worktree',
} as const satisfies Partial<Record<EventType, ActionOf<WorkUpdated>>>

export function updateOf(recorded: RecordedEvent): Update {
  const { project, conversationId, version, position, at, event } = recorded
  const base = { project, conversationId, version, position, at, event: recorded }
  if (isOneOf(sessionActions, event)) {
    return { ...base, name: 'session:updated', sessionId: event.sessionId, action: sessionActions[event.type] }
  }
  if (isOneOf(conversationActions, event)) {
    return { ...base, name: 'conversation:updated', action: conversationActions[event.type] }
  }
  if (isOneOf(workActions, event)) {
    return { ...base, name: 'work:updated', item: itemOf(event), action: workActions[event.type] }
  }
  switch (event.type) {
    case 'message.added': {
      const message = messageOf(recorded)!
      const { sessionId } = event
      return sessionId === undefined
        ? { ...base, name: 'conversation:updated', action: 'message_added', message }
        : { ...base, name: 'session:updated', sessionId, action: 'message_added', message }
    }
    case 'session.created': {
      const { sessionId, agentName, agentType, replaces } = event
      const created = { action: 'created', agentName, agentType, ...(replaces && { replaces }) } as const
      return { ...base, name: 'session:updated', sessionId, ...created }
    }
    case 'session.cleared':
    case 'session.reset': {
      const kept = event.type === 'session.reset' ? event.kept : []
      return { ...base, name: 'session:updated', sessionId: event.sessionId, action: 'cleared', kept }
    }
    case 'compaction.started':
    case 'checkpoint.taken':
    case 'compaction.failed':
      return { ...base, sessionId: event.sessionId, ...compactionUpdate(event) }
    case 'work.moved': {
      const { item, from, to, reason } = event
      const moved = { action: 'moved', from, to, ...(reason !== undefined && { reason }) } as const
      return { ...base, name: 'work:updated', item, ...moved }
    }
    default:
      return event satisfies never
  }
}

function isOneOf<T extends object>(actions: T, event: LogEvent): event is Extract<LogEvent, { type: keyof T }> {
  return Object.hasOwn(actions, event.type)
}

function compactionUpdate(event: CompactionStarted | CheckpointTaken | CompactionFailed) {
  switch (event.type) {
    case 'compaction.started':
      return { name: 'session:compaction-start', action: 'started', compaction: event } as const
    case 'checkpoint.taken': {
      const reclaimed = event.tokensBefore - event.tokensAfter
      return { name: 'session:compaction-complete', action: 'completed', compaction: event, reclaimed } as const
    }
    case 'compaction.failed':
      return { name: 'session:compaction-error', action: 'failed', compaction: event } as const
  }
}

function itemOf(event: { item: WorkItem } | { featureId: string }): WorkItem {
  return 'item' in event ? event.item : { type: 'feature', featureId: event.featureId }
}
