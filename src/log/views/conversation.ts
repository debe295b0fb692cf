/**
 * A conversation's head: the little that deciding and listing need, folded from its log.
 *
 * `info` changes seldom and is the same object after an event that does not touch it, so that a store can tell what it
 * need not write again.
 */
import type { BranchPoint } from '../events/conversation.ts'
import type { Metadata } from '../events/metadata.ts'
import type { RecordedEvent } from '../events/recorded-event.ts'
import type { WorkItem } from '../events/work-item.ts'
import { evolveTeam, type TeamState } from './conversation-state.ts'
import { mergeMetadata } from './metadata.ts'

export type ConversationStatus = 'active' | 'completed' | 'archived'

export interface ConversationInfo extends TeamState {
  id: string
  project: string
  title: string
  status: ConversationStatus
  /** The status `restore` gives back. */
  statusBeforeArchive?: ConversationStatus
  workItem: WorkItem
  tracingId?: string
  metadata: Metadata
  createdAt: string
  completedAt?: string
  archivedAt?: string
  /** When somebody last took it out of the archive: the sweep counts from then on. */
  restoredAt?: string
  summary?: string
  /** Versions of pinned messages. */
  pins?: readonly number[]
  /** A branch shares what its parent says up to here. */
  branchOf?: BranchPoint
  /** Version of the newest fact of an erasure: whoever read messages before must not repeat them later. */
  erasedAt?: number
  /** Where the conclusion of this branch was taken back to. */
  mergedInto?: { conversationId: string; messageId: string }
}

export interface ConversationHead {
  info: ConversationInfo
  /** Version of the newest event. */
  version: number
  /** ISO time of the newest event, but for marks that a session expired: those are nobody's doing. */
  activeAt: string
}

/** The one type of event that says of nobody that he used the conversation. Stores that look for its last use pass it over. */
export const unusedMark = 'session.expired'

/** The head after `recorded`. Undefined before the first event and, for a damaged log, until it says what it is about. */
export function evolveConversation(
  head: ConversationHead | undefined,
  recorded: RecordedEvent,
): ConversationHead | undefined {
  const info = evolveInfo(head?.info, recorded)
  const isUse = !head || recorded.event.type !== unusedMark
  return info && { info, version: recorded.version, activeAt: isUse ? recorded.at : head.activeAt }
}

function evolveInfo(info: ConversationInfo | undefined, recorded: RecordedEvent): ConversationInfo | undefined {
  const { event, at } = recorded
  if (event.type === 'conversation.created') {
    const { title, workItem, tracingId, metadata = {}, branchOf, inherits } = event
    const begun: ConversationInfo = {
      ...inherits,
      id: recorded.conversationId,
      project: recorded.project,
      title,
      status: 'active',
      workItem,
      ...(tracingId !== undefined && { tracingId }),
      ...(branchOf && { branchOf }),
      metadata,
      createdAt: at,
    }
    return evolveTeam(begun, recorded)
  }
  if (!info) return undefined
  switch (event.type) {
    case 'conversation.annotated':
      return {
        ...info,
        title: event.title ?? info.title,
        metadata: event.metadata ? mergeMetadata(info.metadata, event.metadata) : info.metadata,
      }
    case 'conversation.completed':
      return {
        ...info,
        status: 'completed',
        completedAt: at,
        ...(event.summary !== undefined && { summary: event.summary }),
      }
    case 'conversation.reopened': {
      const { completedAt: _, ...rest } = info
      return { ...rest, status: 'active' }
    }
    case 'conversation.archived':
      return { ...info, status: 'archived', statusBeforeArchive: info.status, archivedAt: at }
    case 'conversation.restored': {
      const { statusBeforeArchive = 'active', archivedAt: _, ...rest } = info
      // One that was purged may not have been archived before.
      const status = info.status === 'archived' ? statusBeforeArchive : info.status
      return { ...rest, status, ...(event.stays && { restoredAt: at }) }
    }
    case 'branch.merged':
      return { ...info, mergedInto: { conversationId: event.into, messageId: event.messageId } }
    case 'message.added':
      return event.pinned ? { ...info, pins: [...(info.pins ?? []), recorded.version] } : info
    case 'message.erased':
      // Programs of before did not say what they wrote anew, and had no such field.
      return event.rewritten ? { ...info, erasedAt: recorded.version } : info
    case 'message.pinned': {
      const others = (info.pins ?? []).filter(version => version !== event.version)
      return { ...info, pins: event.pinned ? [...others, event.version].sort((a, b) => a - b) : others }
    }
    default:
      return evolveTeam(info, recorded)
  }
}

/** What of a head a branch takes over: how things stood, not what the parent is called or whether it was put away. */
export function inheritedInfo(info: ConversationInfo): Record<string, unknown> {
  const {
    id: _id,
    project: _project,
    title: _title,
    status: _status,
    statusBeforeArchive: _before,
    workItem: _workItem,
    tracingId: _tracingId,
    metadata: _metadata,
    createdAt: _createdAt,
    completedAt: _completedAt,
    archivedAt: _archivedAt,
    restoredAt: _restoredAt,
    summary: _summary,
    branchOf: _branchOf,
    mergedInto: _mergedInto,
    erasedAt: _erasedAt,
    // Who works on the parent does not work here, and what it owes its own parent is not owed twice.
    execution: _execution,
    delegated: _delegated,
    runs: _runs,
    questions: _questions,
    ralph: _ralph,
    landing: _landing,
    // A branch is a thread to think in; the work item stays the parent's.
    work: _work,
    dispatches: _dispatches,
    ...rest
  } = info
  return rest
}
