/** The port of a worker: it gets one dispatched item and returns the result. */
import type { DispatchOutcome } from '../../log/events/work/dispatch.ts'
import type { WorkItem } from '../../log/events/work-item.ts'

export type DispatchedItem = Extract<WorkItem, { type: 'task' | 'bead' }>

/** A dispatch, as its worker gets it. */
export interface Job {
  dispatchId: string
  item: DispatchedItem
  title: string
  state: string
  agent: string
  /** Number of dispatches since its guards were last cleared, including this one. */
  hop: number
  /** Message of the agent that handed it over. */
  message?: string
  /** The item's lease. Every write about the item carries it, and is refused once another dispatcher has the lease. */
  fence: { name: string; generation: number }
}

export interface WorkDone {
  outcome: Exclude<DispatchOutcome, 'crashed'>
  /** Reason of a failure, park or stop. */
  reason?: string
  summary?: string
  /** The agent's last text, compared with later ones to detect missing progress. */
  text?: string
  /** The agent it is handed over to. */
  next?: { agent: string; message: string }
  sessionId?: string
  /** New state of the item, where it does not follow from the outcome. */
  to?: string
}

/** Does the work of one dispatch. An error it throws counts as a failure. */
export type Worker = (job: Job, signal: AbortSignal) => Promise<WorkDone>

/** A worker of tasks, which also selects the tasks that may start. */
export interface TaskWorker {
  work: Worker
  /** Selects one task of each feature, and none while a team works on the feature. */
  choose(tasks: ReadonlyArray<Extract<DispatchedItem, { type: 'task' }>>): Promise<ReadonlySet<string>>
}
