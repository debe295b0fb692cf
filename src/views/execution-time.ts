/** How long agents were at work on a conversation, restarts and crashes included. Folded from its log. */
import type { RecordedEvent } from '../events/recorded.ts'

export interface ExecutionState {
  /** Of all agents together: two at work at once count twice. */
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

/** More names than this are counted together. */
const mostAgents = 100
export const otherAgents = '(others)'

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
  if (event.type === 'execution.stopped' && state) {
    const { agents } = state
    const isNamed = Object.hasOwn(agents, event.agent)
    const name = isNamed || Object.keys(agents).length < mostAgents ? event.agent : otherAgents
    const before = Object.hasOwn(agents, name) ? agents[name]! : 0
    return {
      totalMs: state.totalMs + event.ms,
      agents: Object.fromEntries([...Object.entries(agents), [name, before + event.ms]]),
      running: state.running.filter(({ id }) => id !== event.executionId),
    }
  }
  return state
}
