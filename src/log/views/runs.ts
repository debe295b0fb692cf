/** Running agents of a conversation, and the usage of all its runs. Folded from its log. */
import { z } from 'zod'
import { Usage } from '../events/message.ts'
import type { RecordedEvent } from '../events/recorded-event.ts'

export const OpenRun = z.object({
  id: z.string(),
  sessionId: z.string(),
  agent: z.string(),
  /** Version of its start. */
  version: z.int(),
  /** ISO time. */
  startedAt: z.string(),
})
export type OpenRun = z.infer<typeof OpenRun>

export const RunsState = z.object({
  open: z.array(OpenRun).readonly(),
  /** Number of ended runs. */
  ended: z.int(),
  usage: Usage,
  /** Number of runs without a known cost, so that the sum is not mistaken for the total. */
  withoutCost: z.int(),
})
export type RunsState = z.infer<typeof RunsState>

const noRuns: RunsState = { open: [], ended: 0, usage: { input: 0, output: 0 }, withoutCost: 0 }

export function evolveRuns(state: RunsState | undefined, recorded: RecordedEvent): RunsState | undefined {
  const { event, version, at } = recorded
  if (event.type === 'run.started') {
    const before = state ?? noRuns
    const { runId: id, sessionId, agent } = event
    return { ...before, open: [...before.open, { id, sessionId, agent, version, startedAt: at }] }
  }
  if (event.type === 'run.ended' && state) {
    const { usage } = event
    return {
      open: state.open.filter(({ id }) => id !== event.runId),
      ended: state.ended + 1,
      usage: addUsage(state.usage, usage),
      withoutCost: state.withoutCost + (usage && usage.cost === undefined ? 1 : 0),
    }
  }
  return state
}

/** Adds two usages. A field that one of them lacks counts as zero. */
export function addUsage(usage: Usage, other: Usage | undefined): Usage {
  if (!other) return usage
  const sum: Usage = { input: usage.input + other.input, output: usage.output + other.output }
  for (const key of ['cacheRead', 'cacheWrite', 'reasoning', 'cost'] as const) {
    if (usage[key] !== undefined || other[key] !== undefined) sum[key] = (usage[key] ?? 0) + (other[key] ?? 0)
  }
  return sum
}
