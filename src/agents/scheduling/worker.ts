/** What is done with one item that was given to an agent: what it is, and what came of it. */
import type { DispatchOutcome } from '../../log/events/work/dispatch.ts'
import type { WorkItem } from '../../log/events/work-item.ts'

export type DispatchedItem = Extract<WorkItem, { type: 'task' | 'bead' }>

/** An item that an agent was given, with all that is known of it. */
export interface Job {
  dispatchId: string
  item: DispatchedItem
  title: string
  /** The state it is in now. */
  state: string
  agent: string
  /** How often it was given to agents, this time included. */
  hop: number
  /** What whoever handed it on said. */
  message?: string
  /** Writes about the item carry it: refused once somebody else has the item. */
  fence: { name: string; generation: number }
}

export interface WorkDone {
  outcome: Exclude<DispatchOutcome, 'crashed'>
  /** Why it failed, is to be parked, or was stopped. */
  reason?: string
  /** What came of it. */
  summary?: string
  /** What was said last, to tell progress from going in circles. */
  text?: string
  /** Whom it goes to next. */
  next?: { agent: string; message: string }
  sessionId?: string
  /** The state it goes to, where that does not follow from the outcome. */
  to?: string
}

/** Does the work of one dispatch. What goes wrong is in what it gives; what it throws counts as failed. */
export type Worker = (job: Job, signal: AbortSignal) => Promise<WorkDone>

/** A worker of tasks that also says which of them may begin. */
export interface TaskWorker {
  work: Worker
  /** Which of the tasks that are ready may begin: of each feature one, and none while a team is at work on it. */
  choose(tasks: ReadonlyArray<Extract<DispatchedItem, { type: 'task' }>>): Promise<ReadonlySet<string>>
}
