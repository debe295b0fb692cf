/** What happens to sessions: made, cleared, reset, archived, reopened, expired, hidden. Nothing is ever removed. */
import { IllegalState, InvalidInput, NotFound } from '../../errors.ts'
import type { ConversationEvent } from '../events/event.ts'
import type { Metadata } from '../events/metadata.ts'
import type { SessionConfigured, SessionCreated, Sharing } from '../events/session.ts'
import type { WorkItem } from '../events/work-item.ts'
import type { Heads } from '../views/heads.ts'
import type { SessionHead, SessionStatus } from '../views/session.ts'
import { type Decision, isExpired, openConversationIn, openSessionIn, sessionIn } from './decision.ts'

export interface NewSession {
  sessionId: string
  agentName: string
  agentType: string
  taskState?: string
  sharing: Sharing
  expiresInMs: number | null
  /**
   * The session it comes after, as it was found before the write. By then it may no longer be the active one of its key:
   * the sweep marks sessions at any time, and that must make no difference.
   */
  before?: SessionHead | undefined
  /** In a branch: the session of the same agent before the branch point. */
  continues?: SessionCreated['continues']
  metadata?: Metadata
}

export interface NewConversation {
  title: string
  workItem: WorkItem
  phase?: string
  phaseTimeoutMs?: number
}

/** The active session of a natural key, or a new one, and its conversation if there is none yet. */
export function ensureSession(session: NewSession, conversation: NewConversation): Decision {
  return (heads, now) => {
    if (heads.session && !isExpired(heads, now)) return []
    return newSession(session, conversation, heads, now)
  }
}

/** A new session in any case; an active one of the same natural key is archived first. */
export function createSession(session: NewSession, conversation: NewConversation): Decision {
  return (heads, now) => newSession(session, conversation, heads, now)
}

function newSession(
  { before, continues, ...session }: NewSession,
  conversation: NewConversation,
  heads: Heads,
  now: number,
): ConversationEvent[] {
  const events: ConversationEvent[] = []
  if (heads.conversation) openConversationIn(heads, heads.conversation.info.id)
  else events.push({ type: 'conversation.created', ...conversation })
  const active = heads.session?.head
  const isAway = !active || isExpired(heads, now)
  if (active) {
    const { id: sessionId } = active
    const archived = { type: 'session.archived', sessionId, reason: 'a new session was asked for' } as const
    events.push(isAway ? expired(heads) : archived)
  }
  const old = active ?? before
  const created: SessionCreated = {
    type: 'session.created',
    ...session,
    ...(heads.conversation?.info.branchOf && { branchOf: heads.conversation.info.branchOf }),
    // Another may have come here since somebody looked: then that one went on from the parent.
    ...(continues && !old && { continues }),
    ...(old && { replaces: old.id }),
    // Whoever was away goes on where it was; whoever asked for a new session begins anew.
    ...(old?.acknowledged !== undefined && isAway && { acknowledged: old.acknowledged }),
  }
  events.push(created)
  return events
}

function expired(heads: Heads): ConversationEvent {
  const { head, lastActiveAtMs } = heads.session!
  return { type: 'session.expired', sessionId: head.id, lastActiveAt: new Date(lastActiveAtMs).toISOString() }
}

export function clearMessages(sessionId: string): Decision {
  return (heads, now) => {
    const session = openSessionIn(heads, sessionId, now)
    openConversationIn(heads, session.conversationId)
    return [{ type: 'session.cleared', sessionId }]
  }
}

/** `keeps` is the version of a message, found beforehand. Somebody may have cleared the window since: then it is gone. */
export function resetSession(sessionId: string, keeps: number | undefined): Decision {
  return (heads, now) => {
    const session = openSessionIn(heads, sessionId, now)
    openConversationIn(heads, session.conversationId)
    const isThere = keeps !== undefined && (keeps > session.windowStart || session.kept.includes(keeps))
    return [{ type: 'session.reset', sessionId, kept: isThere ? [keeps] : [] }]
  }
}

export function archiveSession(sessionId: string, reason?: string): Decision {
  return heads => {
    const session = sessionIn(heads, sessionId)
    if (session.status === 'archived') return []
    return [{ type: 'session.archived', sessionId, ...(reason !== undefined && { reason }) }]
  }
}

/** The active session of the same natural key, if another took its place; its time may be over. */
export interface Rival {
  id: string
  status: SessionStatus
  stats: { lastActivityAt: string }
}

export function reopenSession(sessionId: string, rival: Rival | undefined): Decision {
  return (heads, now) => {
    const session = sessionIn(heads, sessionId)
    // Its time may be over before anybody noticed.
    if (session.status === 'active')
      return isExpired(heads, now) ? [expired(heads), { type: 'session.reopened', sessionId }] : []
    const reopened = { type: 'session.reopened', sessionId } as const
    if (!rival) return [reopened]
    const { id: rivalId, stats } = rival
    if (rival.status === 'expired')
      return [{ type: 'session.expired', sessionId: rivalId, lastActiveAt: stats.lastActivityAt }, reopened]
    throw new IllegalState(
      `Session ${sessionId} cannot be reopened: ${rivalId} took its place. Archive that one first.`,
      { sessionId, rivalId },
    )
  }
}

export function deleteSession(sessionId: string, reason?: string): Decision {
  return heads => {
    if (!heads.session) throw new NotFound('session', sessionId)
    if (heads.session.head.status === 'deleted') return []
    return [{ type: 'session.deleted', sessionId, ...(reason !== undefined && { reason }) }]
  }
}

/** Records the expiry if it is really due; use since the sweep looked makes it nothing. */
export function expireSession(): Decision {
  return expiryIfDue
}

/** Whoever changes a session that takes no more messages records this first: the change would pass for use of it. */
function expiryIfDue(heads: Heads, now: number): ConversationEvent[] {
  return heads.session?.head.status === 'active' && isExpired(heads, now) ? [expired(heads)] : []
}

/** Ends it before its time. One that is no longer active stays as it is. */
export function expireNow(sessionId: string): Decision {
  return heads => (sessionIn(heads, sessionId).status === 'active' ? [expired(heads)] : [])
}

export function annotateSession(sessionId: string, metadata: Metadata): Decision {
  return (heads, now) => {
    sessionIn(heads, sessionId)
    return [...expiryIfDue(heads, now), { type: 'session.annotated', sessionId, metadata }]
  }
}

export function configureSession(sessionId: string, requests: SessionConfigured['requests']): Decision {
  return (heads, now) => {
    const { requests: known = {} } = openSessionIn(heads, sessionId, now)
    const isKnown = Object.entries(requests).every(
      ([key, value]) => JSON.stringify(known[key as keyof typeof known] ?? null) === JSON.stringify(value ?? null),
    )
    return isKnown ? [] : [{ type: 'session.configured', sessionId, requests }]
  }
}

export function linkSession(sessionId: string, system: string, outsideId: string | null): Decision {
  return (heads, now) => {
    const session = sessionIn(heads, sessionId)
    if ((session.outsideIds[system] ?? null) === outsideId) return []
    return [...expiryIfDue(heads, now), { type: 'session.linked', sessionId, system, outsideId }]
  }
}

/** Moves the agent's cursor on, never back. */
export function acknowledge(sessionId: string, upTo: number): Decision {
  return (heads, now) => {
    const session = openSessionIn(heads, sessionId, now)
    return acknowledged(heads, session, upTo)
  }
}

/** The same for the active session of a natural key, made by `ensure` if there is none. */
export function acknowledgeAfter(ensure: Decision, upTo: number): Decision {
  return (heads, now) => {
    const events = ensure(heads, now)
    const made = events.find(event => event.type === 'session.created')
    const session = made ? { id: made.sessionId, acknowledged: cursorOf(made) } : heads.session!.head
    return [...events, ...acknowledged(heads, session, upTo)]
  }
}

/** What a new session begins with: from the one it comes after, or in a branch from the one it goes on from. */
function cursorOf({ acknowledged, continues }: SessionCreated): number | undefined {
  return acknowledged ?? (continues?.head.acknowledged as number | undefined)
}

function acknowledged(
  { conversation }: Heads,
  { id: sessionId, acknowledged }: { id: string; acknowledged?: number | undefined },
  upTo: number,
): ConversationEvent[] {
  const newest = conversation?.version ?? 0
  if (upTo > newest) {
    throw new InvalidInput('upTo', `the conversation is at version ${newest}; ${upTo} has not been written yet`)
  }
  if (acknowledged !== undefined && upTo <= acknowledged) return []
  return [{ type: 'session.acknowledged', sessionId, upTo }]
}
