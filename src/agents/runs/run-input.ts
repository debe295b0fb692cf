/** Input of a run. */

import type { Message } from '../../log/views/message.ts'
import type { SessionHead } from '../../log/views/session.ts'
import type { Model, ModelPriority } from '../../models/model.ts'
import type { Tool } from '../tools/tool.ts'
import type { RunCalls } from './tool-calls.ts'

export interface RunInput {
  /** The message it answers. */
  trigger: Message
  model: Model
  tools: readonly Tool[]
  signal: AbortSignal
  /** True once another run has taken its place. */
  isSuperseded(): boolean
  priority?: ModelPriority
  /** Maximum number of model calls. */
  maxSteps: number
  calls: Pick<RunCalls, 'call'> & {
    /** True when a call waits for a person and therefore has no result yet. */
    waits(callId: string, asking: Message): Promise<boolean>
  }
}

/** Returns the newest message to this agent by a person, or by an agent in a person's place. */
export function newestMessageFor(
  { agentName }: Pick<SessionHead, 'agentName'>,
  messages: readonly Message[],
): Message | undefined {
  return messages.findLast(
    ({ role, author, internal, addressees, content }) =>
      role === 'user' &&
      !internal &&
      author !== agentName &&
      content.trim() !== '' &&
      (!addressees || addressees.length === 0 || addressees.includes(agentName)),
  )
}
