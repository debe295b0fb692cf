/** What a run of an agent is asked for, and what is told of one that has begun. */

import type { MessageInput } from '../../log/commands/message-input.ts'
import type { WriteOptions } from '../../log/engine.ts'
import type { Model, ModelPriority } from '../../models/model.ts'
import type { Tool } from '../tools/tool.ts'
import type { LiveUpdate } from './live.ts'
import type { RunResult } from './run.ts'

/** A session by its id, or an agent of a conversation, whose session is made if there is none. */
export type RunTarget = string | { conversationId: string; agent: string; agentType?: string }

export interface RunOptions {
  /** Said first, and stored before anything else; then answered. */
  message?: string | MessageInput
  /** Answers this stored message. Without it and without a message: whatever waits, or was cut off. */
  trigger?: { messageId: string }
  /** By name or opened. Default: the session's, the agent type's, the project's. */
  model?: Model | string
  /** Stops the run; what was said by then is kept. */
  signal?: AbortSignal
  /** Who goes first where calls of the model must wait. Default `normal`. */
  priority?: ModelPriority
  /** Told of everything as it happens. */
  onPart?: (part: LiveUpdate['part']) => void
  /** Tools of this run beside those that the agent's description allows. */
  tools?: readonly Tool[]
  maxSteps?: number
  /** How long a person has to answer what the agent asks. */
  answerWithinMs?: number
  /** Stops a run of the session in this process and takes its place. */
  supersedes?: boolean
  /** While another run has the session, waits for its end. Always so with a message. */
  waits?: boolean
  /** How the message is stored. With a key it is stored, and answered, once. */
  write?: WriteOptions
  /** The folder its tools work in and never leave, where it is not the project's. */
  root?: string
  /** Starts with an empty window: what was said before is kept, and not sent. */
  fresh?: boolean
  /** Makes the message be said once for ever: a run that was cut off goes on with the one that is there. */
  once?: string
}

/** A run that goes on by itself, or waits until another one has left the session. */
export interface StartedRun {
  state: 'running' | 'waiting'
  /** Absent while it waits. */
  runId?: string
  sessionId: string
  conversationId: string
  agent: string
  model: string
  /** The message it answers; absent while it waits and nobody knows yet. */
  messageId?: string
  /** How it went. Nobody needs to look: the log says so, too. */
  ended: Promise<RunResult>
}
