/** Decisions about time at work. An execution whose process died ends at the last event of its agent. */
import { IllegalState } from '../../errors.ts'
import type { ExecutionStopped } from '../events/execution.ts'
import type { RunningExecution } from '../views/execution-time.ts'
import { type Decision, openConversationIn } from './decision.ts'

/** `lastSeen` maps running executions of the same agent to the time of the agent's last event. */
export function startExecution(
  id: string,
  started: { executionId: string; agent: string },
  lastSeen: ReadonlyMap<string, number>,
): Decision {
  return heads => {
    const { info } = openConversationIn(heads, id)
    // The caller holds the agent's lease, so an earlier execution that is still open is dead.
    const dead = (info.execution?.running ?? []).filter(({ agent }) => agent === started.agent)
    return [
      ...dead.map(execution => crash(execution, lastSeen.get(execution.id))),
      { type: 'execution.started', ...started },
    ]
  }
}

/** Stops an execution. A stopped one changes nothing, and a conversation completed meanwhile takes the time, too. */
export function stopExecution(id: string, target: { agent: string; executionId?: string }): Decision {
  return (heads, now) => {
    const running = heads.conversation?.info.execution?.running.find(
      ({ id, agent }) => agent === target.agent && (target.executionId ?? id) === id,
    )
    if (!running) {
      if (target.executionId !== undefined) return []
      throw new IllegalState(`${target.agent} is not at work on conversation ${id}. Nothing was written.`, {
        conversationId: id,
        ...target,
      })
    }
    const ms = Math.max(0, now - Date.parse(running.startedAt))
    return [{ type: 'execution.stopped', executionId: running.id, agent: running.agent, ms }]
  }
}

/** Closes the executions in `lastSeen`, whose processes are dead. */
export function closeCrashed(lastSeen: ReadonlyMap<string, number>): Decision {
  return heads =>
    (heads.conversation?.info.execution?.running ?? [])
      .filter(({ id }) => lastSeen.has(id))
      .map(execution => crash(execution, lastSeen.get(execution.id)))
}

function crash({ id, agent, startedAt }: RunningExecution, lastSeen: number | undefined): ExecutionStopped {
  const startMs = Date.parse(startedAt)
  return {
    type: 'execution.stopped',
    executionId: id,
    agent,
    ms: Math.max(0, (lastSeen ?? startMs) - startMs),
    crashed: true,
  }
}
