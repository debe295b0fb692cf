/** Features as work items: described, listed, moved on. */
import { parseInput } from '../../log/commands/input.ts'
import {
  addFeature,
  describeFeature,
  FeatureChanges,
  Move,
  moveWork,
  NewFeature,
} from '../../log/commands/work/work.ts'
import type { Listed } from '../../log/directory.ts'
import type { WriteOptions } from '../../log/engine.ts'
import type { FeatureState } from '../../log/events/work/work.ts'
import type { WorkItem } from '../../log/events/work-item.ts'
import type { FeatureWork } from '../../log/views/work/work.ts'
import type { Feature, FeatureSummary } from './item-views.ts'
import { type WorkAccess, type WorkHead, withJsonData } from './work-access.ts'
import { textsOf } from './work-texts.ts'

export interface WorkPage {
  cursor?: string
  /** Default 50. */
  limit?: number
}

export class Features {
  readonly #access: WorkAccess

  constructor(access: WorkAccess) {
    this.#access = access
  }

  async add(input: NewFeature, options: WriteOptions | undefined): Promise<Feature> {
    const { engine, newConversation, write } = this.#access
    const { featureId = engine.newId(), ...rest } = withJsonData(parseInput(NewFeature, input))
    const { title: _, ...phase } = newConversation('')
    const { conversation } = await write(
      item(featureId),
      addFeature(featureId, rest, phase),
      ['addFeature', input],
      options,
    )
    return this.#whole(conversation as WorkHead<FeatureWork>)
  }

  async describe(featureId: string, input: FeatureChanges, options: WriteOptions | undefined): Promise<Feature> {
    const changes = withJsonData(parseInput(FeatureChanges, input))
    const decide = describeFeature(featureId, changes)
    const asked = ['describeFeature', featureId, input]
    const { conversation } = await this.#access.write(item(featureId), decide, asked, options)
    return this.#whole(conversation as WorkHead<FeatureWork>)
  }

  async move(featureId: string, to: FeatureState, input: Move, options: WriteOptions | undefined): Promise<Feature> {
    const move = withJsonData(parseInput(Move, input))
    const decide = moveWork(item(featureId), to, move, this.#access.newConversation(featureId))
    const asked = ['moveFeature', featureId, to, input]
    const { conversation } = await this.#access.write(item(featureId), decide, asked, options)
    return this.#whole(conversation as WorkHead<FeatureWork>)
  }

  async get(featureId: string): Promise<Feature> {
    return this.#whole(await this.#access.feature(featureId))
  }

  async list({ states, ...page }: { states?: readonly FeatureState[] } & WorkPage): Promise<Listed<FeatureSummary>> {
    const { engine, scope } = this.#access
    const { project } = scope
    const found = await engine.store.workItems({ ...page, project, type: 'feature', ...(states && { states }) })
    return { ...found, items: found.items.map(head => summaryOf(head as WorkHead<FeatureWork>)) }
  }

  async #whole(head: WorkHead<FeatureWork>): Promise<Feature> {
    return { ...summaryOf(head), ...(await textsOf(this.#access, head)) }
  }
}

function item(featureId: string): WorkItem {
  return { type: 'feature', featureId }
}

function summaryOf({ info, version, activeAt }: WorkHead<FeatureWork>): FeatureSummary {
  const { type: _type, tasks, goalAt: _goal, specAt: _spec, plannedAt: _planned, ...work } = info.work
  const { id: conversationId, status, createdAt, workItem } = info
  const featureId = workItem.type === 'feature' ? workItem.featureId : ''
  return { featureId, conversationId, ...work, tasks: tasks.length, status, version, createdAt, activeAt }
}
