/** Time that agents spent on a conversation, across restarts and crashes. Folded from its log. */
import type { RecordedEvent } from '../events/recorded-event.ts'

export interface ExecutionState {
  /** Sum over all agents: parallel work counts for each agent. */
  totalMs: number
  agents: Readonly<Record<string, number>>
  running: readonly RunningExecution[]
}

export interface RunningExecution {
  id: string
  agent: string
  /** Version of its start. */
  version: number
  /** ISO time. */
  startedAt: string
}

/** Names past this number are counted together. */
const maxAgents = 100
const otherAgents = '(others)'

export function evolveExecution(
  state: ExecutionState | undefined,
  recorded: RecordedEvent,
): ExecutionState | undefined {
  const { event, version, at } = recorded
  if (event.type === 'execution.started') {
    const { totalMs, agents, running } = state ?? { totalMs: 0, agents: {}, running: [] }
    const started = { id: event.executionId, agent: event.agent, version, startedAt: at }
    return { totalMs, agents, running: [...running, started] }
  }
  // A run reports its working time once, at its end.
  if (event.type === 'run.ended' && event.durationMs > 0) {
    return addTime(state ?? { totalMs: 0, agents: {}, running: [] }, event.agent, event.durationMs)
  }
  if (event.type === 'execution.stopped' && state) {
    const { totalMs, agents } = addTime(state, event.agent, event.ms)
    return { totalMs, agents, running: state.running.filter(({ id }) => id !== event.executionId) }
  }
  return state
}

function addTime(state: ExecutionState, agent: string, ms: number): ExecutionState {
  const { agents } = state
  const isNamed = Object.hasOwn(agents, agent)
  const name = isNamed || Object.keys(agents).length < maxAgents ? agent : otherAgents
  const before = Object.hasOwn(agents, name) ? agents[name]! : 0
  return {
    ...state,
    totalMs: state.totalMs + ms,
    agents: Object.fromEntries([...Object.entries(agents), [name, before + ms]]),
  }
}
