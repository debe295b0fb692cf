/** The port through which tools reach the rest of the product. */
import type { QuestionKind } from '../../log/events/question.ts'
import type { Message } from '../../log/views/message.ts'

/** Tasks to add, or to change where the id exists. Omitted fields keep their values. */
export interface TaskPlan {
  feature?: string
  tasks: ReadonlyArray<{
    taskId: string
    title?: string
    description?: string
    dependencies?: string[]
    priority?: number
    agent?: string
  }>
  remove?: string[]
  reason?: string
}

export interface PlannedGraph {
  featureId: string
  name: string
  summary: string
  tasks: ReadonlyArray<{
    taskId: string
    title: string
    state: string
    dependencies: readonly string[]
    isReady: boolean
    /** Reason of the newest transition. */
    reason?: string
  }>
}

export interface ToolPort {
  /** Records that the agent read a file; returns its normalised path. @throws {PathRefused} */
  recordRead(path: string): Promise<string>
  mayWrite(
    path: string,
  ): Promise<{ may: true; path: string; absolutePath: string } | { may: false; path: string; reason: string }>
  /** Searches the agent's conversation for messages with these words. */
  recall(text: string, limit: number): Promise<ReadonlyArray<{ version: number; author: string; snippet: string }>>
  /** The messages behind an item of a checkpoint. */
  expand(item: string): Promise<readonly Message[]>
  message(version: number): Promise<Message | undefined>
  /** Pins a message, or a new message with this text. Returns the message's version. */
  pin(target: { version: number } | { text: string }): Promise<number>
  delegate(to: string, task: string, signal: AbortSignal): Promise<{ outcome: string; result: string }>
  ask(
    callId: string,
    question: {
      kind: QuestionKind
      text: string
      choices?: readonly string[]
      default?: string
      withinMs: number
    },
    signal: AbortSignal,
  ): Promise<{ answer: string; timedOut: boolean }>
  /** Changes the task graph of the feature that the conversation is about. @throws {PlanRefused} */
  planTasks(plan: TaskPlan): Promise<PlannedGraph>
  graph(feature?: string): Promise<PlannedGraph>
}
