/**
 * Visibility of messages: one pure predicate over the audience stored on each event. Windows, sums, catch-up,
 * coverage, recall and search use it, and nothing else decides.
 */
import type { Audience } from './events/audience.ts'
import type { SessionHead } from './views/session.ts'

/** A reader: a session's agent, or one that sees the whole log (a person, an audit, an export). */
export type Viewer =
  | { sees: 'everything' }
  | {
      sees: 'as-session'
      sessionId: string
      agentName: string
      /** Sessions this one goes on from, in the conversations its own branches off. */
      continues?: readonly string[]
      delegations?: readonly string[]
    }

export const everything: Viewer = { sees: 'everything' }

export function viewerOf(session: SessionHead): Viewer {
  const { id, agentName, continues } = session
  return { sees: 'as-session', sessionId: id, agentName, ...(continues && { continues }) }
}

export function isVisible(audience: Audience, viewer: Viewer): boolean {
  if (viewer.sees === 'everything') return true
  switch (audience.to) {
    case 'everyone':
      return true
    case 'session':
      return audience.sessionId === viewer.sessionId || (viewer.continues?.includes(audience.sessionId) ?? false)
    case 'agents':
      return audience.agents.includes(viewer.agentName)
    case 'delegation':
      return viewer.delegations?.includes(audience.delegationId) ?? false
    case 'internal':
      return false
    default:
      return audience satisfies never
  }
}
