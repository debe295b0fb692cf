/**
 * A conversation's head: the fields that decisions and lists need, folded from its log.
 *
 * `info` changes rarely and stays the same object while unchanged, so that a store knows what it need not write.
 */
import { z } from 'zod'
import type { BranchPoint } from '../events/conversation.ts'
import type { Metadata } from '../events/metadata.ts'
import type { RecordedEvent } from '../events/recorded-event.ts'
import type { WorkItem } from '../events/work-item.ts'
import { type ConversationState, evolveState } from './conversation-state.ts'
import { mergeMetadata } from './metadata.ts'

export const ConversationStatus = z.enum(['active', 'completed', 'archived'])
export type ConversationStatus = z.infer<typeof ConversationStatus>

export interface ConversationInfo extends ConversationState {
  id: string
  project: string
  title: string
  status: ConversationStatus
  /** The status that `restore` returns to. */
  statusBeforeArchive?: ConversationStatus
  workItem: WorkItem
  tracingId?: string
  metadata: Metadata
  createdAt: string
  completedAt?: string
  archivedAt?: string
  /** Time it was last restored from the archive; the sweep counts from then. */
  restoredAt?: string
  summary?: string
  /** Versions of pinned messages. */
  pins?: readonly number[]
  /** The branch shares its parent's events up to here. */
  branchOf?: BranchPoint
  /** Version of the newest erasure. Readers that cached messages before it must not show them again. */
  erasedAt?: number
  /** The conversation that this branch was merged into. */
  mergedInto?: { conversationId: string; messageId: string }
}

export interface ConversationHead {
  info: ConversationInfo
  /** Version of the newest event. */
  version: number
  /** ISO time of the newest event other than session expiries, which are not use. */
  activeAt: string
}

/**
 * The one event type that does not count as use of the conversation. Stores skip it when they look for the last use.
 */
export const expiryEvent = 'session.expired'

/**
 * Returns the head after `recorded`. Undefined before the first event and, in a damaged log, until the work item is
 * known.
 */
export function evolveConversation(
  head: ConversationHead | undefined,
  recorded: RecordedEvent,
): ConversationHead | undefined {
  const info = evolveInfo(head?.info, recorded)
  const isUse = !head || recorded.event.type !== expiryEvent
  return info && { info, version: recorded.version, activeAt: isUse ? recorded.at : head.activeAt }
}

function evolveInfo(info: ConversationInfo | undefined, recorded: RecordedEvent): ConversationInfo | undefined {
  const { event, at } = recorded
  if (event.type === 'conversation.created') {
    const { title, workItem, tracingId, metadata = {}, branchOf, inherits } = event
    const created: ConversationInfo = {
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
    return evolveState(created, recorded)
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
      // A purged conversation may not have been archived before.
      const status = info.status === 'archived' ? statusBeforeArchive : info.status
      return { ...rest, status, ...(event.stays && { restoredAt: at }) }
    }
    case 'branch.merged':
      return { ...info, mergedInto: { conversationId: event.into, messageId: event.messageId } }
    case 'message.added':
      return event.pinned ? { ...info, pins: [...(info.pins ?? []), recorded.version] } : info
    case 'message.erased':
      return event.rewritten ? { ...info, erasedAt: recorded.version } : info
    case 'message.pinned': {
      const others = (info.pins ?? []).filter(version => version !== event.version)
      return { ...info, pins: event.pinned ? [...others, event.version].sort((a, b) => a - b) : others }
    }
    default:
      return evolveState(info, recorded)
  }
}

/** Returns the fields of a head that a branch takes over: the state, but not the parent's title or archive status. */
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
    // Executions and delegations of the parent do not continue in the branch.
    execution: _execution,
    delegated: _delegated,
    runs: _runs,
    questions: _questions,
    ralph: _ralph,
    landing: _landing,
    // The work item stays with the parent; a branch is a thread.
    work: _work,
    dispatches: _dispatches,
    ...rest
  } = info
  return rest
}
