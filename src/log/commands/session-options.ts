/** Options that name a session, and the work item and natural key they stand for. */
import { z } from 'zod'
import { Id } from '../events/id.ts'
import { Metadata } from '../events/metadata.ts'
import { Sharing } from '../events/session.ts'
import type { WorkItem } from '../events/work-item.ts'
import { DurationMs } from './duration.ts'
import { parseInput } from './input.ts'
import { jsonCopy } from './json.ts'

const common = {
  /** pm, dev, qa, harness, merge, or any other name. */
  agentType: Id,
  /** Default: the type. Two agents of one type need names to have sessions of their own. */
  agentName: Id.optional(),
  /** Title of the conversation, if it is created. */
  title: z.string().optional(),
  sharing: Sharing.optional(),
  expiresInMs: DurationMs.nullable().optional(),
  metadata: Metadata.optional(),
}

export const SessionOptions = z.discriminatedUnion('type', [
  z.strictObject({ ...common, type: z.literal('feature'), featureId: Id }),
  z.strictObject({ ...common, type: z.literal('task'), featureId: Id, taskId: Id, taskState: Id.optional() }),
  z.strictObject({ ...common, type: z.literal('bead'), beadId: Id }),
  z.strictObject({ ...common, type: z.literal('thread'), threadId: Id }),
])
export type SessionOptions = z.input<typeof SessionOptions>

export interface RequestedSession {
  workItem: WorkItem
  agentName: string
  agentType: string
  taskState?: string
  title?: string
  sharing?: Sharing
  expiresInMs?: number | null
  metadata?: Metadata
}

export function requestedSession(input: SessionOptions): RequestedSession {
  const options = parseInput(SessionOptions, input)
  const { agentType, agentName = agentType, title, sharing, expiresInMs } = options
  // From the input itself: the schema's copy lacks a key called `__proto__`.
  const { metadata } = input
  return {
    workItem: workItemOf(options),
    agentName,
    agentType,
    ...('taskState' in options && options.taskState !== undefined && { taskState: options.taskState }),
    ...(title !== undefined && { title }),
    ...(sharing !== undefined && { sharing }),
    ...(expiresInMs !== undefined && { expiresInMs }),
    ...(metadata !== undefined && { metadata: jsonCopy(metadata, 'metadata') as Metadata }),
  }
}

function workItemOf(options: z.output<typeof SessionOptions>): WorkItem {
  switch (options.type) {
    case 'feature':
      return { type: 'feature', featureId: options.featureId }
    case 'task':
      return { type: 'task', featureId: options.featureId, taskId: options.taskId }
    case 'bead':
      return { type: 'bead', beadId: options.beadId }
    case 'thread':
      return { type: 'thread', threadId: options.threadId }
  }
}

/** Returns the title of a conversation that is created without one. */
export function titleOf(item: WorkItem): string {
  switch (item.type) {
    case 'feature':
      return `Feature ${item.featureId}`
    case 'task':
      return `Task ${item.taskId} of ${item.featureId}`
    case 'bead':
      return `Bead ${item.beadId}`
    case 'thread':
      return item.threadId
  }
}
