/** Decisions about sessions. None of them removes events. */
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
  /** Predecessor, read before the write. The sweep may expire it in between, which makes no difference. */
  before?: SessionHead | undefined
  /** In a branch: the agent's session in the parent at the branch point. */
  continues?: SessionCreated['continues']
  metadata?: Metadata
}

interface NewConversation {
  title: string
  workItem: WorkItem
  phase?: string
  phaseTimeoutMs?: number
}

/** Keeps the active session of a natural key, or creates one, with its conversation if there is none. */
export function ensureSession(session: NewSession, conversation: NewConversation): Decision {
  return (heads, now) => {
    if (heads.session && !isExpired(heads, now)) return []
    return newSession(session, conversation, heads, now)
  }
}

/** Creates a session, and archives an active one of the same natural key first. */
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
  const isIdle = !active || isExpired(heads, now)
  if (active) {
    const { id: sessionId } = active
    const archived = { type: 'session.archived', sessionId, reason: 'replaced by a new session' } as const
    events.push(isIdle ? expired(heads) : archived)
  }
  const predecessor = active ?? before
  const created: SessionCreated = {
    type: 'session.created',
    ...session,
    ...(heads.conversation?.info.branchOf && { branchOf: heads.conversation.info.branchOf }),
    // A predecessor in the branch, perhaps created meanwhile, already continued from the parent.
    ...(continues && !predecessor && { continues }),
    ...(predecessor && { replaces: predecessor.id }),
    // An idle agent keeps its cursor; an explicitly requested new session starts without one.
    ...(isIdle && predecessor?.acknowledged !== undefined && { acknowledged: predecessor.acknowledged }),
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

/** `keeps` is the version of a message, read before the write. It is not kept if the window was cleared meanwhile. */
export function resetSession(sessionId: string, keeps: number | undefined): Decision {
  return (heads, now) => {
    const session = openSessionIn(heads, sessionId, now)
    openConversationIn(heads, session.conversationId)
    const isInWindow = keeps !== undefined && (keeps > session.windowStart || session.kept.includes(keeps))
    return [{ type: 'session.reset', sessionId, kept: isInWindow ? [keeps] : [] }]
  }
}

export function archiveSession(sessionId: string, reason?: string): Decision {
  return heads => {
    const session = sessionIn(heads, sessionId)
    if (session.status === 'archived') return []
    return [{ type: 'session.archived', sessionId, ...(reason !== undefined && { reason }) }]
  }
}

/** The active session that took over the natural key. It may be expired without a recorded expiry. */
interface Rival {
  id: string
  status: SessionStatus
  stats: { lastActivityAt: string }
}

export function reopenSession(sessionId: string, rival: Rival | undefined): Decision {
  return (heads, now) => {
    const session = sessionIn(heads, sessionId)
    // It may be expired without a recorded expiry.
    if (session.status === 'active')
      return isExpired(heads, now) ? [expired(heads), { type: 'session.reopened', sessionId }] : []
    const reopened = { type: 'session.reopened', sessionId } as const
    if (!rival) return [reopened]
    const { id: rivalId, stats } = rival
    if (rival.status === 'expired')
      return [{ type: 'session.expired', sessionId: rivalId, lastActiveAt: stats.lastActivityAt }, reopened]
    throw new IllegalState(
      `Session ${sessionId} cannot be reopened: ${rivalId} took its place. Nothing was written; archive that one first.`,
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

/**
 * Records the expiry if it is due. A change of an expired session records it first, because the change would count as
 * use.
 */
export function expireIfDue(heads: Heads, now: number): ConversationEvent[] {
  return heads.session?.head.status === 'active' && isExpired(heads, now) ? [expired(heads)] : []
}

/** Expires an active session before its time. */
export function expireNow(sessionId: string): Decision {
  return heads => (sessionIn(heads, sessionId).status === 'active' ? [expired(heads)] : [])
}

export function annotateSession(sessionId: string, metadata: Metadata): Decision {
  return (heads, now) => {
    sessionIn(heads, sessionId)
    return [...expireIfDue(heads, now), { type: 'session.annotated', sessionId, metadata }]
  }
}

export function configureSession(sessionId: string, requests: SessionConfigured['requests']): Decision {
  return (heads, now) => {
    const { requests: current = {} } = openSessionIn(heads, sessionId, now)
    const isSame = Object.entries(requests).every(
      ([key, value]) => JSON.stringify(current[key as keyof typeof current] ?? null) === JSON.stringify(value ?? null),
    )
    return isSame ? [] : [{ type: 'session.configured', sessionId, requests }]
  }
}

export function linkSession(sessionId: string, system: string, outsideId: string | null): Decision {
  return (heads, now) => {
    const session = sessionIn(heads, sessionId)
    if ((session.outsideIds[system] ?? null) === outsideId) return []
    return [...expireIfDue(heads, now), { type: 'session.linked', sessionId, system, outsideId }]
  }
}

/** Moves the agent's cursor forward, never back. */
export function acknowledge(sessionId: string, upTo: number): Decision {
  return (heads, now) => {
    const session = openSessionIn(heads, sessionId, now)
    return acknowledged(heads, session, upTo)
  }
}

/** Acknowledges for the active session of a natural key, which `ensure` creates if there is none. */
export function acknowledgeAfter(ensure: Decision, upTo: number): Decision {
  return (heads, now) => {
    const events = ensure(heads, now)
    const created = events.find(event => event.type === 'session.created')
    const session = created ? { id: created.sessionId, acknowledged: cursorOf(created) } : heads.session!.head
    return [...events, ...acknowledged(heads, session, upTo)]
  }
}

/** The cursor of a new session: its predecessor's, or in a branch that of the parent's session. */
function cursorOf({ acknowledged, continues }: SessionCreated): number | undefined {
  return acknowledged ?? (continues?.head.acknowledged as number | undefined)
}

/** Moves a cursor forward, never back. */
export function acknowledged(
  { conversation }: Heads,
  { id: sessionId, acknowledged }: { id: string; acknowledged?: number | undefined },
  upTo: number,
): ConversationEvent[] {
  const newest = conversation?.version ?? 0
  if (upTo > newest) {
    throw new InvalidInput('upTo', `the conversation is at version ${newest}, so ${upTo} does not exist yet`)
  }
  if (acknowledged !== undefined && upTo <= acknowledged) return []
  return [{ type: 'session.acknowledged', sessionId, upTo }]
}
