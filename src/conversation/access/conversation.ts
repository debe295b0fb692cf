/** A conversation as callers see it, theirs to change. */
import type { ConversationHead, ConversationInfo } from '../../log/views/conversation.ts'

export interface Conversation extends ConversationInfo {
  version: number
  /** ISO time of the newest event. */
  activeAt: string
}

export function shown({ info, version, activeAt }: ConversationHead): Conversation {
  return { ...structuredClone(info), version, activeAt }
}
