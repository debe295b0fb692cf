/** Access to work items: finds their heads and writes events about them. */

import { NotFound } from '../../errors.ts'
import type { Decision } from '../../log/commands/decision.ts'
import { jsonCopy } from '../../log/commands/json.ts'
import { firstPhase } from '../../log/commands/phase.ts'
import type { PhaseSet } from '../../log/commands/phase-set.ts'
import type { NewWorkConversation } from '../../log/commands/work/work.ts'
import type { WorkQuery } from '../../log/directory.ts'
import type { Engine, Scope, WriteOptions } from '../../log/engine.ts'
import type { Appended } from '../../log/event-log.ts'
import type { ConversationEvent } from '../../log/events/event.ts'
import type { Metadata } from '../../log/events/metadata.ts'
import type { WorkItem } from '../../log/events/work-item.ts'
import type { ConversationHead } from '../../log/views/conversation.ts'
import type { BeadWork, FeatureWork, TaskWork } from '../../log/views/work/work.ts'

/** The head of a conversation that is about a work item of this kind. */
export type WorkHead<W> = ConversationHead & { info: { work: W } }

export interface WorkAccess {
  readonly engine: Engine
  readonly scope: Scope
  find(item: WorkItem): Promise<ConversationHead | undefined>
  /** @throws {NotFound} when it was not added as a work item */
  feature(featureId: string): Promise<WorkHead<FeatureWork>>
  bead(beadId: string): Promise<WorkHead<BeadWork>>
  /** Those that ever moved; the others are in planning. Tasks that the graph has no more are among them. */
  movedTasks(featureId: string): Promise<Map<string, WorkHead<TaskWork>>>
  /** All pages of a query, one after the other. */
  walk(query: Omit<WorkQuery, 'project' | 'cursor'>): AsyncGenerator<ConversationHead>
  /** The fact at a version, if it is one of that type. */
  factAt<T extends ConversationEvent['type']>(
    head: ConversationHead,
    version: number | undefined,
    type: T,
  ): Promise<Extract<ConversationEvent, { type: T }> | undefined>
  write(
    item: WorkItem,
    decide: Decision,
    asked: readonly unknown[],
    options: WriteOptions | undefined,
  ): Promise<Appended>
  /** The first events of a new conversation. */
  newConversation(title: string): NewWorkConversation
}

export function workAccess({
  engine,
  scope,
  phases,
}: {
  engine: Engine
  scope: Scope
  phases: PhaseSet | undefined
}): WorkAccess {
  const { store } = engine
  const { project } = scope
  const find = (item: WorkItem) => store.conversationOf(project, item)

  async function* walk(query: Omit<WorkQuery, 'project' | 'cursor'>): AsyncGenerator<ConversationHead> {
    let cursor: string | undefined
    do {
      const page = await store.workItems({ limit: 200, ...query, project, ...(cursor !== undefined && { cursor }) })
      yield* page.items
      cursor = page.next
    } while (cursor !== undefined)
  }

  return {
    engine,
    scope,
    find,
    walk,
    async feature(featureId) {
      const head = await find({ type: 'feature', featureId })
      if (head?.info.work?.type !== 'feature') throw new NotFound('feature', featureId)
      return head as WorkHead<FeatureWork>
    },
    async bead(beadId) {
      const head = await find({ type: 'bead', beadId })
      if (head?.info.work?.type !== 'bead') throw new NotFound('bead', beadId)
      return head as WorkHead<BeadWork>
    },
    async movedTasks(featureId) {
      const moved = new Map<string, WorkHead<TaskWork>>()
      for await (const head of walk({ type: 'task', featureId })) {
        const { workItem, work } = head.info
        if (workItem.type === 'task' && work?.type === 'task') moved.set(workItem.taskId, head as WorkHead<TaskWork>)
      }
      return moved
    },
    async factAt({ info }, version, type) {
      if (version === undefined) return undefined
      const [recorded] = await store.read({ project, conversationId: info.id, from: version, to: version })
      type Wanted = Extract<ConversationEvent, { type: typeof type }>
      return recorded?.event.type === type ? (recorded.event as Wanted) : undefined
    },
    write: (item, decide, asked, options) =>
      engine.execute(scope, { conversation: { id: engine.newId(), workItem: item }, decide, asked, options }),
    newConversation: title => ({ title, ...firstPhase(phases, undefined) }),
  }
}

/** Copies the free data of an input, which must be JSON. */
export function withJsonData<T extends { data?: Metadata | undefined }>(input: T): T {
  return input.data === undefined ? input : { ...input, data: jsonCopy(input.data, 'data') as Metadata }
}
