/** Starts and stops dispatchers, lists dispatched and parked items, and clears guards. */

import type { SessionManager } from '../../conversation/sessions/session-manager.ts'
import { type WorkAccess, workAccess } from '../../conversation/work/work-access.ts'
import type { WorkManager } from '../../conversation/work/work-manager.ts'
import { IllegalState } from '../../errors.ts'
import { parseInput } from '../../log/commands/input.ts'
import type { PhaseSet } from '../../log/commands/phase-set.ts'
import { clearGuards } from '../../log/commands/work/dispatch.ts'
import type { Engine, Scope, WriteOptions } from '../../log/engine.ts'
import type { GuardKind } from '../../log/events/work/dispatch.ts'
import { WorkItem } from '../../log/events/work-item.ts'
import { legalMoves } from '../../log/views/work/state-transitions.ts'
import type { AgentManager } from '../runs/agent-manager.ts'
import { beadWorker } from './bead-worker.ts'
import { itemLease } from './dispatch-leases.ts'
import { ProjectDispatchPort } from './dispatch-port.ts'
import type { DispatchSettings } from './dispatch-settings.ts'
import {
  type DispatchCounts,
  type Dispatcher,
  type DispatchStatus,
  type DispatchUpdate,
  startDispatcher,
} from './dispatcher.ts'
import type { DispatchedItem, TaskWorker } from './worker.ts'

export interface DispatchOptions {
  /** Ends when nothing is ready and nothing waits for a retry. */
  once?: boolean
  /** Items at a time in this process. Default: the project's setting. */
  concurrency?: number
  /** Stops it and its running agents. Their messages are kept. */
  signal?: AbortSignal
  onUpdate?: (update: DispatchUpdate) => void
}

export interface ParkedItem {
  item: DispatchedItem
  title: string
  state: string
  /** ISO time. */
  since: string
  reason: string
  /** The guard that parked it. */
  guard?: GuardKind
  /** The parked item it waits for. */
  waitsFor?: string
  attempts: number
  conversationId: string
}

export interface RunningDispatch {
  item: DispatchedItem
  title: string
  agent: string
  /** The dispatcher. */
  node: string
  /** ISO time. */
  startedAt: string
  /** Number of dispatches since its guards were last cleared, including this one. */
  hop: number
  /** The dispatcher's lease has expired; another one may take the item. */
  isDead: boolean
  conversationId: string
}

export class DispatchManager {
  readonly #engine: Engine
  readonly #scope: Scope
  readonly #access: WorkAccess
  readonly #phases: PhaseSet | undefined
  readonly #services: { work: WorkManager; sessions: SessionManager; agents: AgentManager; settings: DispatchSettings }
  readonly #running: Map<Dispatcher, string>
  readonly #task: TaskWorker | undefined

  constructor(services: {
    engine: Engine
    scope: Scope
    phases: PhaseSet | undefined
    work: WorkManager
    sessions: SessionManager
    agents: AgentManager
    settings: DispatchSettings
    /** All dispatchers of this process, with their projects. */
    running: Map<Dispatcher, string>
    /** Works on tasks. A project without a folder has none, and only beads are taken. */
    task?: TaskWorker
  }) {
    this.#engine = services.engine
    this.#scope = services.scope
    this.#access = workAccess(services)
    this.#phases = services.phases
    this.#services = services
    this.#running = services.running
    this.#task = services.task
  }

  /**
   * Starts a dispatcher, which takes ready items by priority until it is stopped. Any number of processes may dispatch on
   * one store; an item is dispatched to one agent at a time.
   */
  start({ once = false, concurrency, signal, onUpdate }: DispatchOptions = {}): Dispatcher {
    const { settings, work, sessions, agents } = this.#services
    const scope = { ...this.#scope, actor: 'dispatcher' }
    const bead = beadWorker({ engine: this.#engine, scope, work, sessions, agents })
    const port = new ProjectDispatchPort({
      engine: this.#engine,
      scope,
      access: workAccess({ engine: this.#engine, scope, phases: this.#phases }),
      work,
      agents,
      settings,
      workers: this.#task ? { bead, task: this.#task } : { bead },
      node: this.#engine.newId(),
    })
    const dispatcher = startDispatcher(port, {
      once,
      concurrency: concurrency ?? settings.concurrency,
      lookEveryMs: settings.lookEveryMs,
      ...(onUpdate && { onUpdate }),
    })
    this.#running.set(dispatcher, scope.project)
    const end = () => void dispatcher.stop()
    signal?.addEventListener('abort', end, { once: true })
    if (signal?.aborted) end()
    const forget = () => {
      this.#running.delete(dispatcher)
      signal?.removeEventListener('abort', end)
    }
    dispatcher.over.then(forget, forget)
    return dispatcher
  }

  /** Dispatches everything that is ready, and returns the counts. */
  async once(options: Omit<DispatchOptions, 'once'> = {}): Promise<DispatchCounts> {
    return this.start({ ...options, once: true }).over
  }

  /** The dispatchers of this process that work for the project. */
  status(): DispatchStatus[] {
    return this.#dispatchers().map(dispatcher => dispatcher.status())
  }

  /** Stops the dispatchers of this process that work for the project, and their running agents. Returns how many. */
  async stop(): Promise<number> {
    const dispatchers = this.#dispatchers()
    await Promise.all(dispatchers.map(dispatcher => dispatcher.stop()))
    return dispatchers.length
  }

  /** Items that are dispatched now, in any process. */
  async running(): Promise<RunningDispatch[]> {
    const items: RunningDispatch[] = []
    const { project } = this.#scope
    for (const type of ['bead', 'task'] as const) {
      for await (const { info } of this.#access.walk({ type, status: ['active'] })) {
        const { workItem, dispatches, title, id: conversationId } = info
        if (!dispatches?.open || (workItem.type !== 'bead' && workItem.type !== 'task')) continue
        const { agent, node, startedAt } = dispatches.open
        const lease = await this.#engine.store.holderOf({ project, name: itemLease(workItem) })
        const isDead = lease?.holder !== node
        const hop = dispatches.hops
        items.push({ item: workItem, title, agent, node, startedAt, hop, isDead, conversationId })
      }
    }
    return items.sort((a, b) => a.startedAt.localeCompare(b.startedAt))
  }

  /** Items that wait for a person: parked beads, blocked and failed tasks; oldest first. */
  async parked(): Promise<ParkedItem[]> {
    const items: ParkedItem[] = []
    for (const [type, states] of [
      ['bead', ['parked']],
      ['task', ['blocked', 'failed']],
    ] as const) {
      for await (const { info } of this.#access.walk({ type, states, status: ['active'] })) {
        const { work, workItem, dispatches, title, id: conversationId } = info
        if (!work || (workItem.type !== 'bead' && workItem.type !== 'task')) continue
        const waitsFor = work.move?.data?.waitsFor
        items.push({
          item: workItem,
          title,
          state: work.state,
          since: work.since,
          reason: work.move?.reason ?? work.attempts?.last.reason ?? '',
          ...(dispatches?.tripped && { guard: dispatches.tripped.kind }),
          ...(typeof waitsFor === 'string' && { waitsFor }),
          attempts: work.attempts?.count ?? 0,
          conversationId,
        })
      }
    }
    return items.sort((a, b) => a.since.localeCompare(b.since))
  }

  /**
   * Clears the guards of an item, so that it can be dispatched again. Items that wait for it continue by themselves.
   *
   * @throws {NotFound} when the item does not exist
   * @throws {IllegalState} when it is done
   */
  async clear(item: DispatchedItem, reason?: string, write?: WriteOptions): Promise<void> {
    const checked = parseInput(WorkItem, item)
    const work = (await this.#access.find(checked))?.info.work
    const to = work?.type === 'task' ? (work.heldIn ?? work.state) : work?.state === 'parked' ? 'open' : work?.state
    if (work?.type !== 'task' && work?.state === 'done') {
      throw new IllegalState('The item is done, so there is nothing to resume. Nothing was written.', { item })
    }
    if (work && to !== undefined && to !== work.state && !legalMoves(work.type, work.state, to).includes(to)) {
      const facts = { item, from: work.state, to }
      throw new IllegalState(`The item cannot move from ${work.state} to ${to}. Nothing was written.`, facts)
    }
    const decide = clearGuards(checked, reason, to ?? 'open', this.#access.newConversation(''))
    await this.#access.write(checked, decide, ['clearGuards', item, reason], write)
  }

  #dispatchers(): Dispatcher[] {
    return [...this.#running].filter(([, project]) => project === this.#scope.project).map(([dispatcher]) => dispatcher)
  }
}
