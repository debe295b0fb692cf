/** Agents start and stop working; one that was found dead is stopped at the last thing it is known to have done. */
import { IllegalState } from '../../errors.ts'
import type { ExecutionStopped } from '../events/execution.ts'
import type { RunningExecution } from '../views/execution-time.ts'
import { type Decision, openConversationIn } from './decision.ts'

/** `lastSeen` says, for executions of the same agent found running, when the agent last did something. */
export function startExecution(
  id: string,
  started: { executionId: string; agent: string },
  lastSeen: ReadonlyMap<string, number>,
): Decision {
  return heads => {
    const { info } = openConversationIn(heads, id)
    // Whoever claimed the lease knows that the earlier one is dead.
    const dead = (info.execution?.running ?? []).filter(one => one.agent === started.agent)
    return [...dead.map(one => crashed(one, lastSeen.get(one.id))), { type: 'execution.started', ...started }]
  }
}

/** Stopping what is stopped already changes nothing. Also a conversation that was completed meanwhile takes the time. */
export function stopExecution(id: string, asked: { agent: string; executionId?: string }): Decision {
  return (heads, now) => {
    const running = heads.conversation?.info.execution?.running.find(
      one => one.agent === asked.agent && (asked.executionId === undefined || asked.executionId === one.id),
    )
    if (!running) {
      if (asked.executionId !== undefined) return []
      throw new IllegalState(`${asked.agent} is not at work on conversation ${id}.`, { conversationId: id, ...asked })
    }
    const ms = Math.max(0, now - Date.parse(running.startedAt))
    return [{ type: 'execution.stopped', executionId: running.id, agent: running.agent, ms }]
  }
}

/** Closes executions that were found dead. */
export function closeCrashed(lastSeen: ReadonlyMap<string, number>): Decision {
  return heads =>
    (heads.conversation?.info.execution?.running ?? [])
      .filter(one => lastSeen.has(one.id))
      .map(one => crashed(one, lastSeen.get(one.id)))
}

function crashed(one: RunningExecution, lastSeen: number | undefined): ExecutionStopped {
  const startedAt = Date.parse(one.startedAt)
  return {
    type: 'execution.stopped',
    executionId: one.id,
    agent: one.agent,
    ms: Math.max(0, (lastSeen ?? startedAt) - startedAt),
    crashed: true,
  }
}
