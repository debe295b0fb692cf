/**
 * Updates for subscribers: every event of a project, named by kind of change.
 *
 * dagent's and TENEX's names are kept (`session:updated` with its actions). One event gives one update; updates add
 * nothing to the log.
 */
import type { CheckpointTaken, CompactionFailed, CompactionStarted } from '../events/checkpoint.ts'
import type { RecordedEvent } from '../events/recorded-event.ts'
import type { WorkItem } from '../events/work-item.ts'
import { type Message, messageOf } from './message.ts'

interface Place {
  project: string
  conversationId: string
  version: number
  /** Resumes a subscription after this update. */
  position: string
  at: string
  event: RecordedEvent
}

export type SessionUpdated = Place & { name: 'session:updated'; sessionId: string } & (
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

export type ConversationUpdated = Place & { name: 'conversation:updated' } & (
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
export type CompactionUpdated = Place & { sessionId: string } & (
    | { name: 'session:compaction-start'; action: 'started'; compaction: CompactionStarted }
    | { name: 'session:compaction-complete'; action: 'completed'; compaction: CheckpointTaken; reclaimed: number }
    | { name: 'session:compaction-error'; action: 'failed'; compaction: CompactionFailed }
  )

/** Changes of work items: descriptions, task graph, states. */
export type WorkUpdated = Place & { name: 'work:updated'; item: WorkItem } & (
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

export function updateOf(recorded: RecordedEvent): Update {
  const { project, conversationId, version, position, at, event } = recorded
  const place = { project, conversationId, version, position, at, event: recorded }
  const session = { ...place, name: 'session:updated' } as const
  const conversation = { ...place, name: 'conversation:updated' } as const
  const work = { ...place, name: 'work:updated' } as const
  switch (event.type) {
    case 'message.added': {
      const message = messageOf(recorded)!
      return event.sessionId === undefined
        ? { ...conversation, action: 'message_added', message }
        : { ...session, sessionId: event.sessionId, action: 'message_added', message }
    }
    case 'session.created': {
      const { sessionId, agentName, agentType, replaces } = event
      return { ...session, sessionId, action: 'created', agentName, agentType, ...(replaces && { replaces }) }
    }
    case 'session.cleared':
      return { ...session, sessionId: event.sessionId, action: 'cleared', kept: [] }
    case 'session.reset':
      return { ...session, sessionId: event.sessionId, action: 'cleared', kept: event.kept }
    case 'session.archived':
      return { ...session, sessionId: event.sessionId, action: 'archived' }
    case 'session.reopened':
      return { ...session, sessionId: event.sessionId, action: 'reopened' }
    case 'session.expired':
      return { ...session, sessionId: event.sessionId, action: 'expired' }
    case 'session.deleted':
      return { ...session, sessionId: event.sessionId, action: 'deleted' }
    case 'session.acknowledged':
      return { ...session, sessionId: event.sessionId, action: 'acknowledged' }
    case 'session.annotated':
      return { ...session, sessionId: event.sessionId, action: 'annotated' }
    case 'session.linked':
      return { ...session, sessionId: event.sessionId, action: 'linked' }
    case 'session.configured':
      return { ...session, sessionId: event.sessionId, action: 'configured' }
    case 'session.described':
      return { ...session, sessionId: event.sessionId, action: 'described' }
    case 'context.gathered':
      return { ...session, sessionId: event.sessionId, action: 'context' }
    case 'request.built':
      return { ...session, sessionId: event.sessionId, action: 'request' }
    case 'compaction.started':
      return {
        ...place,
        name: 'session:compaction-start',
        sessionId: event.sessionId,
        action: 'started',
        compaction: event,
      }
    case 'checkpoint.taken':
      return {
        ...place,
        name: 'session:compaction-complete',
        sessionId: event.sessionId,
        action: 'completed',
        compaction: event,
        reclaimed: event.tokensBefore - event.tokensAfter,
      }
    case 'compaction.failed':
      return {
        ...place,
        name: 'session:compaction-error',
        sessionId: event.sessionId,
        action: 'failed',
        compaction: event,
      }
    case 'message.pinned':
      return { ...conversation, action: 'pinned' }
    case 'branch.merged':
      return { ...conversation, action: 'merged' }
    case 'conversation.created':
      return { ...conversation, action: 'created' }
    case 'conversation.annotated':
      return { ...conversation, action: 'annotated' }
    case 'conversation.completed':
      return { ...conversation, action: 'completed' }
    case 'conversation.reopened':
      return { ...conversation, action: 'reopened' }
    case 'conversation.archived':
      return { ...conversation, action: 'archived' }
    case 'conversation.restored':
      return { ...conversation, action: 'restored' }
    case 'phase.changed':
    case 'phase.stuck':
      return { ...conversation, action: 'phase' }
    case 'turn.started':
    case 'completion.recorded':
    case 'turn.resolved':
    case 'turn.undone':
      return { ...conversation, action: 'turn' }
    case 'loop.detected':
    case 'loop.cleared':
      return { ...conversation, action: 'loop' }
    case 'delegation.started':
    case 'delegation.returned':
    case 'delegation.ended':
      return { ...conversation, action: 'delegation' }
    case 'file.read':
      return { ...conversation, action: 'file_read' }
    case 'reference.resolved':
      return { ...conversation, action: 'reference' }
    case 'execution.started':
    case 'execution.stopped':
      return { ...conversation, action: 'execution' }
    case 'run.started':
    case 'run.ended':
      return { ...session, sessionId: event.sessionId, action: 'run' }
    case 'question.asked':
    case 'question.answered':
    case 'question.taken':
      return { ...conversation, action: 'question' }
    case 'ralph.started':
    case 'iteration.ended':
    case 'ralph.ended':
    case 'review.given':
    case 'landing.started':
    case 'conflicts.found':
    case 'landing.ended':
      return { ...conversation, action: 'work' }
    case 'feature.described':
      return { ...work, item: featureOf(event), action: 'described' }
    case 'tasks.planned':
      return { ...work, item: featureOf(event), action: 'planned' }
    case 'work.described':
      return { ...work, item: event.item, action: 'described' }
    case 'work.moved': {
      const { item, from, to, reason } = event
      return { ...work, item, action: 'moved', from, to, ...(reason !== undefined && { reason }) }
    }
    case 'work.reported':
      return { ...work, item: event.item, action: 'reported' }
    case 'work.attempted':
      return { ...work, item: event.item, action: 'attempted' }
    case 'dispatch.started':
    case 'dispatch.ended':
      return { ...work, item: event.item, action: 'dispatch' }
    case 'guard.tripped':
    case 'guard.cleared':
      return { ...work, item: event.item, action: 'guard' }
    case 'worktree.created':
    case 'worktree.removed':
      return { ...work, item: event.item, action: 'worktree' }
    case 'message.erased':
    case 'erased':
      return { ...conversation, action: 'erased' }
    case 'unknown':
    case 'damaged':
      return { ...conversation, action: 'recorded' }
    default:
      return event satisfies never
  }
}

function featureOf({ featureId }: { featureId: string }): WorkItem {
  return { type: 'feature', featureId }
}
