/** Beads: work items that stand by themselves, with a priority and dependencies on each other. */

import { DependenciesOpen, PlanRefused } from '../../errors.ts'
import { parseInput } from '../../log/commands/input.ts'
import {
  addBead,
  BeadChanges,
  describeBead,
  Move,
  moveWork,
  NewBead,
  workItemName,
} from '../../log/commands/work/work.ts'
import type { Listed } from '../../log/directory.ts'
import type { WriteOptions } from '../../log/engine.ts'
import type { BeadState } from '../../log/events/work/work.ts'
import type { WorkItem } from '../../log/events/work-item.ts'
import type { ConversationHead } from '../../log/views/conversation.ts'
import { cycleIn } from '../../log/views/work/task-graph.ts'
import type { BeadWork } from '../../log/views/work/work.ts'
import type { WorkPage } from './features.ts'
import type { Bead, BeadSummary } from './item-views.ts'
import { type WorkAccess, type WorkHead, withJsonData } from './work-access.ts'

export interface BeadMove extends Move {
  /** Lets it begin before those it depends on are done. */
  ignoresDependencies?: boolean
}

export class Beads {
  readonly #access: WorkAccess

  constructor(access: WorkAccess) {
    this.#access = access
  }

  async add(input: NewBead, options: WriteOptions | undefined): Promise<Bead> {
    const { engine, newConversation, write } = this.#access
    const { beadId = engine.newId(), ...rest } = withJsonData(parseInput(NewBead, input))
    await this.#refuseUnknown(beadId, rest.dependencies)
    const { title: _, ...phase } = newConversation('')
    const { conversation } = await write(item(beadId), addBead(beadId, rest, phase), ['addBead', input], options)
    return this.#whole(conversation as WorkHead<BeadWork>)
  }

  async describe(beadId: string, input: BeadChanges, options: WriteOptions | undefined): Promise<Bead> {
    const changes = withJsonData(parseInput(BeadChanges, input))
    await this.#refuseUnknown(beadId, changes.dependencies)
    await this.#refuseCycle(beadId, changes.dependencies)
    const asked = ['describeBead', beadId, input]
    const { conversation } = await this.#access.write(item(beadId), describeBead(beadId, changes), asked, options)
    return this.#whole(conversation as WorkHead<BeadWork>)
  }

  async move(beadId: string, to: BeadState, input: BeadMove, options: WriteOptions | undefined): Promise<Bead> {
    const { ignoresDependencies = false, ...rest } = input
    const move = withJsonData(parseInput(Move, rest))
    const head = await this.#access.bead(beadId)
    if (to === 'in_progress' && head.info.work.state === 'open' && !ignoresDependencies) {
      const open = await this.#waitsFor(head.info.work)
      if (open.length > 0) throw new DependenciesOpen({ item: workItemName(item(beadId)), open })
    }
    const decide = moveWork(item(beadId), to, move, this.#access.newConversation(beadId))
    const { conversation } = await this.#access.write(item(beadId), decide, ['moveBead', beadId, to, input], options)
    return this.#whole(conversation as WorkHead<BeadWork>)
  }

  async get(beadId: string): Promise<Bead> {
    return this.#whole(await this.#access.bead(beadId))
  }

  async list({ states, ...page }: { states?: readonly BeadState[] } & WorkPage): Promise<Listed<BeadSummary>> {
    const { engine, scope } = this.#access
    const found = await engine.store.workItems({
      ...page,
      project: scope.project,
      type: 'bead',
      ...(states && { states }),
    })
    return { ...found, items: found.items.map(head => beadSummary(head as WorkHead<BeadWork>)) }
  }

  async #whole(head: WorkHead<BeadWork>): Promise<Bead> {
    const [described, waitsFor] = await Promise.all([
      this.#access.factAt(head, head.info.work.descriptionAt, 'work.described'),
      this.#waitsFor(head.info.work),
    ])
    return {
      ...beadSummary(head),
      ...(described?.description && { description: described.description }),
      waitsFor,
    }
  }

  async #waitsFor({ dependencies }: BeadWork) {
    const found = await Promise.all(dependencies.map(beadId => this.#access.find(item(beadId))))
    return found.flatMap((head, index) =>
      isDone(head) ? [] : [{ id: dependencies[index]!, title: head!.info.title, state: head!.info.work!.state }],
    )
  }

  /** Refuses the bead itself too, the only circle of a new bead, because no other bead depends on it yet. */
  async #refuseUnknown(beadId: string, wanted: readonly string[] = []): Promise<void> {
    if (wanted.includes(beadId)) throw circle([beadId, beadId])
    const found = await Promise.all(wanted.map(id => this.#access.find(item(id))))
    const missing = wanted.filter((_, index) => found[index]?.info.work?.type !== 'bead')
    if (missing.length === 0) return
    throw new PlanRefused({ problems: missing.map(id => `Bead ${beadId} depends on ${id}, which is no bead here.`) })
  }

  /** Dependencies that lead back to the bead itself. */
  async #refuseCycle(beadId: string, wanted: readonly string[] = []): Promise<void> {
    const known = new Map<string, readonly string[]>([[beadId, wanted]])
    let next = [...wanted]
    while (next.length > 0) {
      const heads = await Promise.all(next.map(id => this.#access.find(item(id))))
      for (const [index, head] of heads.entries()) {
        known.set(next[index]!, head?.info.work?.type === 'bead' ? head.info.work.dependencies : [])
      }
      next = [...new Set(next.flatMap(id => known.get(id)!))].filter(id => !known.has(id))
    }
    const cycle = cycleIn([...known].map(([taskId, dependencies]) => ({ taskId, dependencies })))
    if (cycle) throw circle(cycle)
  }
}

function circle(cycle: readonly string[]): PlanRefused {
  return new PlanRefused({ problems: [`The beads would wait for each other: ${cycle.join(' → ')}.`], cycle })
}

/** A missing bead counts as done, so that it blocks no other. */
export function isDone(head: ConversationHead | undefined): boolean {
  return head?.info.work?.type !== 'bead' || head.info.work.state === 'done'
}

function item(beadId: string): WorkItem {
  return { type: 'bead', beadId }
}

function beadSummary({ info, version, activeAt }: WorkHead<BeadWork>): BeadSummary {
  const { type: _type, descriptionAt: _at, ...work } = info.work
  const { id: conversationId, status, createdAt, workItem } = info
  const beadId = workItem.type === 'bead' ? workItem.beadId : ''
  return { beadId, conversationId, ...work, status, version, createdAt, activeAt }
}
