/** Decisions about runs. A run whose process died is ended by the next one, or by the sweep. */
import type { RunEnded, RunStarted } from '../events/run.ts'
import type { OpenRun } from '../views/runs.ts'
import { type Decision, openConversationIn, openSessionIn } from './decision.ts'

/** The caller holds the session's lease, so a run of the session that is still open is dead. */
export function startRun(started: Omit<RunStarted, 'type'>): Decision {
  return (heads, now) => {
    const session = openSessionIn(heads, started.sessionId, now)
    const { info } = openConversationIn(heads, session.conversationId)
    const dead = (info.runs?.open ?? []).filter(({ sessionId }) => sessionId === started.sessionId)
    return [...dead.map(crash), { type: 'run.started', ...started }]
  }
}

/** Ends a run. An ended one changes nothing, and a conversation closed meanwhile takes the event, too. */
export function endRun(ended: Omit<RunEnded, 'type'>): Decision {
  return heads => {
    const isOpen = heads.conversation?.info.runs?.open.some(({ id }) => id === ended.runId)
    return isOpen ? [{ type: 'run.ended', ...ended }] : []
  }
}

/** Ends runs whose processes are dead. */
export function endCrashed(dead: ReadonlySet<string>): Decision {
  return heads => (heads.conversation?.info.runs?.open ?? []).filter(({ id }) => dead.has(id)).map(crash)
}

/** Steps and duration are unknown. The messages that the run stored carry their usage. */
function crash({ id, sessionId, agent }: OpenRun): RunEnded {
  return {
    type: 'run.ended',
    sessionId,
    runId: id,
    agent,
    outcome: 'crashed',
    reason: 'its process ended or stalled without a report',
    steps: 0,
    toolCalls: 0,
    durationMs: 0,
  }
}
