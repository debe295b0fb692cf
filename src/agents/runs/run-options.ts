/** Options of a run, and its handle once it has started. */

import type { MessageInput } from '../../log/commands/message-input.ts'
import type { WriteOptions } from '../../log/engine.ts'
import type { Model, ModelPriority } from '../../models/model.ts'
import type { Tool } from '../tools/tool.ts'
import type { LiveUpdate } from './live-channel.ts'
import type { RunResult } from './run.ts'

/** A session by its id, or an agent of a conversation, whose session is created if needed. */
export type RunTarget = string | { conversationId: string; agent: string; agentType?: string }

export interface RunOptions {
  /** Stored before anything else, then answered. */
  message?: string | MessageInput
  /** Answers this stored message. Without trigger and message: the unanswered or interrupted one. */
  trigger?: { messageId: string }
  /** By name or opened. Default: the session's, the agent type's, the project's. */
  model?: Model | string
  /** Stops the run. Its text so far is kept. */
  signal?: AbortSignal
  /** Priority when calls of the model must wait. Default `normal`. */
  priority?: ModelPriority
  /** Called with every part as it happens. */
  onPart?: (part: LiveUpdate['part']) => void
  /** Tools of this run in addition to those of the agent's description. */
  tools?: readonly Tool[]
  maxSteps?: number
  /** Time a person has to answer the agent's questions. */
  answerWithinMs?: number
  /** Stops a run of the session in this process and takes its place. */
  supersedes?: boolean
  /** Waits while another run has the session. A run with a message always waits. */
  waits?: boolean
  /** Write options of the message. With a key it is stored, and answered, once. */
  write?: WriteOptions
  /** The folder its tools are confined to. Default: the project's. */
  root?: string
  /** Starts with an empty window: earlier messages are kept but not sent. */
  fresh?: boolean
  /** Key that makes the message unique: an interrupted run continues with the stored one. */
  once?: string
}

/** A run in the background, or one that waits until another run leaves the session. */
export interface StartedRun {
  state: 'running' | 'waiting'
  /** Absent while it waits. */
  runId?: string
  sessionId: string
  conversationId: string
  agent: string
  model: string
  /** The message it answers; absent until the run has found it. */
  messageId?: string
  /** The result, which the log has, too. */
  ended: Promise<RunResult>
}
