/**
 * Heads from the log itself, for when a stored one is damaged: one bad record must not hide a conversation.
 *
 * Reads only the facts of the conversation that are not messages, so it is quick enough to do on the way.
 */
import { type ConversationHead, type ConversationInfo, evolveConversation } from '../../views/conversation.ts'
import { evolveSession, type SessionHead, sessionOf } from '../../views/session.ts'
import type { Database } from './database.ts'
import { type EventRow, eventColumns, recordedEvent } from './rows.ts'

export interface FoldedHeads {
  info: ConversationInfo
  sessions: Map<string, SessionHead>
}

export type Refold = (row: number, place: { project: string; conversationId: string }) => FoldedHeads

export function refolder(database: Database): Refold {
  const facts = database.prepare(`
    select ${eventColumns} from events e where e.conversation = ? and e.lane is null order by e.version`)

  return (row, place) => {
    let head: ConversationHead | undefined
    const sessions = new Map<string, SessionHead>()
    for (const one of facts.all(row) as EventRow[]) {
      const recorded = recordedEvent(one, { ...place, epoch: '' }, () => undefined)
      head = evolveConversation(head, recorded)
      const about = sessionOf(recorded)
      const next =
        about === undefined
          ? undefined
          : evolveSession(sessions.get(about), recorded, (head?.info ?? nameless(place)).workItem)
      if (next) sessions.set(next.id, next)
    }
    return { info: head?.info ?? nameless(place), sessions }
  }
}

/** The little that can be said of a conversation whose beginning is damaged too. */
export function nameless({ project, conversationId }: { project: string; conversationId: string }): ConversationInfo {
  return {
    id: conversationId,
    project,
    title: '[damaged]',
    status: 'active',
    workItem: { type: 'thread', threadId: conversationId },
    metadata: {},
    createdAt: new Date(0).toISOString(),
  }
}

/** JSON that may be damaged. */
export function parsedOr<T>(text: string, otherwise: () => T): T {
  try {
    return JSON.parse(text) as T
  } catch {
    return otherwise()
  }
}
