/** What a run is given, and which messages it answers. */

import type { Message } from '../../log/views/message.ts'
import type { Model, ModelPriority } from '../../models/model.ts'
import type { Tool } from '../tools/tool.ts'
import type { RunDesk } from './desk.ts'
import type { RunCalls } from './tool-calls.ts'

export interface RunInput {
  /** What it is to answer. */
  trigger: Message
  model: Model
  tools: readonly Tool[]
  signal: AbortSignal
  /** Whether another run took its place: told by the lease. */
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
export function newcomer(messages: readonly Message[], { head }: Pick<RunDesk, 'head'>): Message | undefined {
  return messages.findLast(
    ({ role, author, internal, addressees, content }) =>
      role === 'user' &&
      !internal &&
      author !== head.agentName &&
      content.trim() !== '' &&
      (!addressees || addressees.length === 0 || addressees.includes(head.agentName)),
  )
}
