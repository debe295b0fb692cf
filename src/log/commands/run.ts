/** An agent is set to work on its session, and stops; one that was found dead is ended for it. */
import type { RunEnded, RunStarted } from '../events/run.ts'
import type { OpenRun } from '../views/runs.ts'
import { type Decision, openConversationIn, openSessionIn } from './decision.ts'

/** Whoever starts holds the session's lease, so a run of the session that is still open is dead. */
export function startRun(started: Omit<RunStarted, 'type'>): Decision {
  return (heads, now) => {
    const session = openSessionIn(heads, started.sessionId, now)
    const { info } = openConversationIn(heads, session.conversationId)
    const dead = (info.runs?.open ?? []).filter(one => one.sessionId === started.sessionId)
    return [...dead.map(one => crashed(one)), { type: 'run.started', ...started }]
  }
}

/** Ending what has ended changes nothing. Also a conversation that was closed meanwhile takes it. */
export function endRun(ended: Omit<RunEnded, 'type'>): Decision {
  return heads => {
    const isOpen = heads.conversation?.info.runs?.open.some(one => one.id === ended.runId)
    return isOpen ? [{ type: 'run.ended', ...ended }] : []
  }
}

/** Ends runs that were found dead. */
export function endCrashed(dead: ReadonlySet<string>): Decision {
  return heads => (heads.conversation?.info.runs?.open ?? []).filter(one => dead.has(one.id)).map(one => crashed(one))
}

/** What it took is not known: nobody was there to say. The messages it stored have their usage. */
function crashed({ id, sessionId, agent }: OpenRun): RunEnded {
  return {
    type: 'run.ended',
    sessionId,
    runId: id,
    agent,
    outcome: 'crashed',
    reason: 'its process ended, or stalled, without a word',
    steps: 0,
    toolCalls: 0,
    durationMs: 0,
  }
}
