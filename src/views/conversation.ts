/**
 * A conversation's head: the little that deciding and listing need, folded from its log.
 *
 * `info` changes seldom and is the same object after an event that does not touch it, so that a store can tell what it
 * need not write again.
 */
import type { Metadata } from '../events/metadata.ts'
import type { RecordedEvent } from '../events/recorded.ts'
import type { WorkItem } from '../events/work-item.ts'
import { mergeMetadata } from './metadata.ts'
import { evolveTeam, type TeamState } from './team.ts'

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
  summary?: string
  /** Versions of pinned messages. */
  pins?: readonly number[]
}

export interface ConversationHead {
  info: ConversationInfo
  /** Version of the newest event. */
  version: number
  /** ISO time of the newest event. */
  activeAt: string
}

/** The head after `recorded`. Undefined before the first event and, for a damaged log, until it says what it is about. */
export function evolveConversation(
  head: ConversationHead | undefined,
  recorded: RecordedEvent,
): ConversationHead | undefined {
  const info = evolveInfo(head?.info, recorded)
  return info && { info, version: recorded.version, activeAt: recorded.at }
}

function evolveInfo(info: ConversationInfo | undefined, recorded: RecordedEvent): ConversationInfo | undefined {
  const { event, at } = recorded
  if (event.type === 'conversation.created') {
    const { title, workItem, tracingId, metadata = {} } = event
    const begun: ConversationInfo = {
      id: recorded.conversationId,
      project: recorded.project,
      title,
      status: 'active',
      workItem,
      ...(tracingId !== undefined && { tracingId }),
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
      return { ...rest, status: statusBeforeArchive }
    }
    case 'message.added':
      return event.pinned ? { ...info, pins: [...(info.pins ?? []), recorded.version] } : info
    case 'message.pinned': {
      const others = (info.pins ?? []).filter(version => version !== event.version)
      return { ...info, pins: event.pinned ? [...others, event.version].sort((a, b) => a - b) : others }
    }
    default:
      return evolveTeam(info, recorded)
  }
}
