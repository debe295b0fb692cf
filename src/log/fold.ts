/** Heads from the log itself: for when a stored one is damaged, and to check the stored ones by. */

import type { Landmark } from './directory.ts'
import type { RecordedEvent } from './events/recorded-event.ts'
import { type ConversationHead, type ConversationInfo, evolveConversation } from './views/conversation.ts'
import { evolveSession, type SessionHead, sessionOf } from './views/session.ts'

export interface FoldedHeads {
  info: ConversationInfo
  sessions: Map<string, SessionHead>
  /** False when the record of how it began is damaged too. */
  isNamed: boolean
}

/** Folds the facts of a conversation, its messages left out or not. */
export function foldHeads(
  facts: Iterable<RecordedEvent>,
  place: { project: string; conversationId: string },
): FoldedHeads {
  const fold = headFold(place)
  for (const recorded of facts) fold.take(recorded)
  return fold.heads()
}

export interface HeadFold {
  take(recorded: RecordedEvent): void
  heads(): FoldedHeads
  /** Undefined as long as the log has not said what it is about. */
  readonly conversation: ConversationHead | undefined
}

/** The same event by event, for a log that is read in pages; from the beginning, or from where a landmark stands. */
export function headFold(place: { project: string; conversationId: string }, from?: Landmark): HeadFold {
  let head = from?.conversation
  const sessions = new Map(from?.sessions.map(session => [session.id, session]))
  return {
    take(recorded) {
      head = evolveConversation(head, recorded)
      const about = sessionOf(recorded)
      if (about === undefined) return
      const next = evolveSession(sessions.get(about), recorded, (head?.info ?? nameless(place)).workItem)
      if (next) sessions.set(next.id, next)
    },
    heads: () => ({ info: head?.info ?? nameless(place), sessions, isNamed: head !== undefined }),
    get conversation() {
      return head
    },
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

/** The start of a fold by the head of the conversation, in case its creation event is damaged. */
export function begunAs({ info, version }: ConversationHead): ConversationHead {
  const { id, project, title, workItem, createdAt, tracingId, branchOf } = info
  const begun: ConversationInfo = {
    ...nameless({ project, conversationId: id }),
    title,
    workItem,
    createdAt,
    ...(tracingId !== undefined && { tracingId }),
    ...(branchOf && { branchOf }),
  }
  return { info: begun, version: Math.min(version, branchOf?.version ?? 0), activeAt: createdAt }
}

/** The JSON of a head, which may be damaged. */
export function parsedOr<T>(text: string, otherwise: () => T): T {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as T) : otherwise()
  } catch {
    return otherwise()
  }
}

/** The conversation as a search result, also if its head is damaged. */
export function shownInfo(text: string, conversationId: string): ConversationInfo {
  return parsedOr(text, () => nameless({ project: '', conversationId }))
}

const infoFields = ['id', 'project', 'title', 'status', 'workItem', 'metadata', 'createdAt'] as const

/** A conversation's head in its JSON. A damaged text may still be JSON, of something that lacks what every head has. */
export function infoIn<T>(text: string, otherwise: () => T): ConversationInfo | T {
  const info = parsedOr<Partial<ConversationInfo> | undefined>(text, () => undefined)
  return info && infoFields.every(field => info[field] !== undefined) ? (info as ConversationInfo) : otherwise()
}

const sessionFields = [
  ...['id', 'project', 'conversationId', 'agentName', 'agentType', 'workItem', 'sharing', 'status', 'expiresInMs'],
  ...['windowStart', 'kept', 'compactions', 'outsideIds', 'metadata', 'createdAt', 'updatedAt'],
] as ReadonlyArray<keyof SessionHead>

/** The same of a session. Its times are reckoned with. */
export function sessionHeadIn<T>(text: string, otherwise: () => T): SessionHead | T {
  const head = parsedOr<Partial<SessionHead> | undefined>(text, () => undefined)
  const isWhole =
    head &&
    sessionFields.every(field => head[field] !== undefined) &&
    (head.expiresInMs === null || typeof head.expiresInMs === 'number') &&
    !Number.isNaN(Date.parse(head.updatedAt!))
  return isWhole ? (head as SessionHead) : otherwise()
}
