/** Decisions about requests: the agent's description, its context, and the manifest of a sent request. */
import type { ContextGathered, SessionContext } from '../events/context.ts'
import type { AgentDescription } from '../events/description.ts'
import type { RequestBuilt } from '../events/request.ts'
import { type Decision, openSessionIn, sessionIn } from './decision.ts'

export function describeSession(sessionId: string, description: AgentDescription): Decision {
  return (heads, now) => {
    openSessionIn(heads, sessionId, now)
    return [{ type: 'session.described', sessionId, description }]
  }
}

export function recordContext(
  sessionId: string,
  context: SessionContext,
  fingerprint: string,
  { tokens, limits }: Pick<ContextGathered, 'tokens' | 'limits'>,
): Decision {
  return (heads, now) => {
    openSessionIn(heads, sessionId, now)
    return [{ type: 'context.gathered', sessionId, context, fingerprint, ...(limits && { limits }), tokens }]
  }
}

export function recordRequest(manifest: RequestBuilt): Decision {
  return heads => {
    sessionIn(heads, manifest.sessionId)
    return [manifest]
  }
}
