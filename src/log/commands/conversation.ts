/** Decisions about a whole conversation. Completed and archived ones are read-only until reopened or restored. */
import { IllegalState, NotFound } from '../../errors.ts'
import type { ConversationCreated } from '../events/conversation.ts'
import type { Metadata } from '../events/metadata.ts'
import type { ConversationHead } from '../views/conversation.ts'
import type { Heads } from '../views/heads.ts'
import type { Decision } from './decision.ts'

export function createConversation(created: Omit<ConversationCreated, 'type'>): Decision {
  return heads => {
    if (heads.conversation) {
      throw new IllegalState(
        `The work item already has conversation ${heads.conversation.info.id}. Nothing was written. Use it, or name another thread.`,
        { conversationId: heads.conversation.info.id },
      )
    }
    return [{ type: 'conversation.created', ...created }]
  }
}

export function annotateConversation(id: string, changes: { title?: string; metadata?: Metadata }): Decision {
  return heads => {
    existing(heads, id)
    return [{ type: 'conversation.annotated', ...changes }]
  }
}

export function completeConversation(id: string, summary?: string): Decision {
  return heads => {
    const { status } = existing(heads, id).info
    if (status === 'completed') return []
    if (status === 'archived')
      throw new IllegalState(`Conversation ${id} is archived. Nothing was written; restore it first.`, { id })
    return [{ type: 'conversation.completed', ...(summary !== undefined && { summary }) }]
  }
}

export function reopenConversation(id: string, reason?: string): Decision {
  return heads => {
    const { status } = existing(heads, id).info
    if (status === 'active') return []
    if (status === 'archived')
      throw new IllegalState(`Conversation ${id} is archived. Nothing was written; restore it first.`, { id })
    return [{ type: 'conversation.reopened', ...(reason !== undefined && { reason }) }]
  }
}

export function archiveConversation(id: string, reason?: string): Decision {
  return heads => {
    if (existing(heads, id).info.status === 'archived') return []
    return [{ type: 'conversation.archived', ...(reason !== undefined && { reason }) }]
  }
}

/** Reasons to archive a conversation; times in milliseconds since 1970. */
interface ArchiveDue {
  completed?: boolean
  createdBefore?: number
  inactiveSince?: number
}

/**
 * Archives a conversation that is due at the moment of writing. After a person restored it, its age counts from then, and
 * only a later completion counts.
 */
export function archiveIfDue(id: string, due: ArchiveDue): Decision {
  return heads => {
    const { info, activeAt } = existing(heads, id)
    const { status, createdAt, restoredAt, completedAt = createdAt } = info
    const isBefore = (at: string, limit: number | undefined) => limit !== undefined && Date.parse(at) <= limit
    const isDone = status === 'completed' && (restoredAt === undefined || completedAt > restoredAt)
    const isDue =
      (due.completed && isDone) ||
      isBefore(restoredAt ?? createdAt, due.createdBefore) ||
      isBefore(activeAt, due.inactiveSince)
    if (status === 'archived' || !isDue) return []
    return [{ type: 'conversation.archived', reason: status === 'completed' ? 'completed' : 'inactive' }]
  }
}

export function restoreConversation(id: string, reason?: string): Decision {
  return heads => {
    if (existing(heads, id).info.status !== 'archived') return []
    return [{ type: 'conversation.restored', ...(reason !== undefined && { reason }), stays: true }]
  }
}

/** Marks a purged conversation as restored, so that its age counts from now and the sweep does not archive it at once. */
export function restorePurged(id: string, reason = 'read back from its archive file'): Decision {
  return heads => {
    if (existing(heads, id).info.status === 'archived') return []
    return [{ type: 'conversation.restored', reason, stays: true }]
  }
}

/** Records the merge on the branch. A completed branch takes it too, because its messages do not change. */
export function recordMerge(id: string, merged: { into: string; messageId: string }): Decision {
  return heads => {
    if (existing(heads, id).info.mergedInto?.messageId === merged.messageId) return []
    return [{ type: 'branch.merged', ...merged }]
  }
}

function existing(heads: Heads, id: string): ConversationHead {
  if (!heads.conversation) throw new NotFound('conversation', id)
  return heads.conversation
}
