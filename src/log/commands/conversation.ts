/** What happens to a conversation as a whole. Completed and archived ones are read-only until reopened or restored. */
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
        `Its work item has a conversation already, ${heads.conversation.info.id}. Use that one, or name another thread.`,
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
    if (status === 'archived') throw new IllegalState(`Conversation ${id} is archived; restore it first.`, { id })
    return [{ type: 'conversation.completed', ...(summary !== undefined && { summary }) }]
  }
}

export function reopenConversation(id: string, reason?: string): Decision {
  return heads => {
    const { status } = existing(heads, id).info
    if (status === 'active') return []
    if (status === 'archived') throw new IllegalState(`Conversation ${id} is archived; restore it first.`, { id })
    return [{ type: 'conversation.reopened', ...(reason !== undefined && { reason }) }]
  }
}

export function archiveConversation(id: string, reason?: string): Decision {
  return heads => {
    if (existing(heads, id).info.status === 'archived') return []
    return [{ type: 'conversation.archived', ...(reason !== undefined && { reason }) }]
  }
}

/** What makes a conversation due for the archive; times in milliseconds. */
export interface ArchiveDue {
  completed?: boolean
  createdBefore?: number
  inactiveSince?: number
}

/**
 * Puts away what is due at the moment of writing. What a person took out of the archive was wanted: its age counts from
 * then on, and it is done with only when it is completed anew.
 */
export function archiveIfDue(id: string, due: ArchiveDue): Decision {
  return heads => {
    const { info, activeAt } = existing(heads, id)
    const { status, createdAt, restoredAt, completedAt = createdAt } = info
    const isBefore = (at: string, time: number | undefined) => time !== undefined && Date.parse(at) <= time
    const isDone = status === 'completed' && (restoredAt === undefined || completedAt > restoredAt)
    const isDue =
      (due.completed && isDone) ||
      isBefore(restoredAt ?? createdAt, due.createdBefore) ||
      isBefore(activeAt, due.inactiveSince)
    if (status === 'archived' || !isDue) return []
    return [{ type: 'conversation.archived', reason: status === 'completed' ? 'completed' : 'not used for long' }]
  }
}

export function restoreConversation(id: string, reason?: string): Decision {
  return heads => {
    if (existing(heads, id).info.status !== 'archived') return []
    return [{ type: 'conversation.restored', ...(reason !== undefined && { reason }), stays: true }]
  }
}

/** One that was purged is back. It was wanted, so the sweep leaves it alone for as long again. */
export function broughtBack(id: string, reason = 'read back from its archive file'): Decision {
  return heads => {
    if (existing(heads, id).info.status === 'archived') return []
    return [{ type: 'conversation.restored', reason, stays: true }]
  }
}

/** A completed branch may still be taken back: this changes nothing in what was said. */
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
