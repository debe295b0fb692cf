/** Gives work to agents, in this process and with others; and what a person does about what is parked. Thin. */

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
import { dispatchDesk, leaseOf } from './dispatch-desk.ts'
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
  /** Ends when there is nothing left to do and nothing to be tried again. */
  once?: boolean
  /** Items at a time in this process. Default: what the project says. */
  concurrency?: number
  /** Stops it: what is under way is stopped, what was said is kept. */
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
  /** The guard that keeps it. */
  guard?: GuardKind
  /** The item it waits for, which is parked itself. */
  waitsFor?: string
  attempts: number
  conversationId: string
}

export interface RunningDispatch {
  item: DispatchedItem
  title: string
  agent: string
  /** Which dispatcher gave it to the agent. */
  node: string
  /** ISO time. */
  startedAt: string
  /** How often it was given to agents since a person last cleared it, this time included. */
  hop: number
  /** That one is gone: the next one takes the item. */
  isDead: boolean
  conversationId: string
}

export class DispatchManager {
  readonly #engine: Engine
  readonly #scope: Scope
  readonly #access: WorkAccess
  readonly #phases: PhaseSet | undefined
  readonly #parts: { work: WorkManager; sessions: SessionManager; agents: AgentManager; settings: DispatchSettings }
  readonly #running: Map<Dispatcher, string>
  readonly #task: TaskWorker | undefined

  constructor(parts: {
    engine: Engine
    scope: Scope
    phases: PhaseSet | undefined
    work: WorkManager
    sessions: SessionManager
    agents: AgentManager
    settings: DispatchSettings
    /** Dispatchers of this process, in whatever scope they were started, and the project of each. */
    running: Map<Dispatcher, string>
    /** Does the work of tasks. Without a folder to build in there is none, and only beads are taken. */
    task?: TaskWorker
  }) {
    this.#engine = parts.engine
    this.#scope = parts.scope
    this.#access = workAccess(parts)
    this.#phases = parts.phases
    this.#parts = parts
    this.#running = parts.running
    this.#task = parts.task
  }

  /**
   * Starts to give work to agents: what can be done next, by priority, until it is stopped. As many processes as you like
   * do the same on one store; an item is given to one agent at a time.
   */
  start({ once = false, concurrency, signal, onUpdate }: DispatchOptions = {}): Dispatcher {
    const { settings, work, sessions, agents } = this.#parts
    const scope = { ...this.#scope, actor: 'dispatcher' }
    const bead = beadWorker({ engine: this.#engine, scope, work, sessions, agents })
    const desk = dispatchDesk({
      engine: this.#engine,
      scope,
      access: workAccess({ engine: this.#engine, scope, phases: this.#phases }),
      work,
      agents,
      settings,
      workers: this.#task ? { bead, task: this.#task } : { bead },
      node: this.#engine.newId(),
    })
    const dispatcher = startDispatcher(desk, {
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

  /** Gives all there is to do to agents, and says how that went. */
  async once(options: Omit<DispatchOptions, 'once'> = {}): Promise<DispatchCounts> {
    return this.start({ ...options, once: true }).over
  }

  /** The dispatchers of this process that work for the project. */
  status(): DispatchStatus[] {
    return this.#here().map(one => one.status())
  }

  /** Stops the dispatchers of this process that work for the project; what is under way is stopped. Gives how many. */
  async stop(): Promise<number> {
    const here = this.#here()
    await Promise.all(here.map(one => one.stop()))
    return here.length
  }

  /** What agents have been given and not given back, in whatever process. */
  async running(): Promise<RunningDispatch[]> {
    const found: RunningDispatch[] = []
    const { project } = this.#scope
    for (const type of ['bead', 'task'] as const) {
      for await (const { info } of this.#access.walk({ type, status: ['active'] })) {
        const { workItem, dispatches, title, id: conversationId } = info
        if (!dispatches?.open || (workItem.type !== 'bead' && workItem.type !== 'task')) continue
        const { agent, node, startedAt } = dispatches.open
        const lease = await this.#engine.store.holderOf({ project, name: leaseOf(workItem) })
        const isDead = lease?.holder !== node
        const hop = dispatches.hops
        found.push({ item: workItem, title, agent, node, startedAt, hop, isDead, conversationId })
      }
    }
    return found.sort((a, b) => a.startedAt.localeCompare(b.startedAt))
  }

  /** What a person should look at: parked beads and blocked tasks, the longest first. */
  async parked(): Promise<ParkedItem[]> {
    const found: ParkedItem[] = []
    for (const [type, states] of [
      ['bead', ['parked']],
      ['task', ['blocked', 'failed']],
    ] as const) {
      for await (const { info } of this.#access.walk({ type, states, status: ['active'] })) {
        const { work, workItem, dispatches, title, id: conversationId } = info
        if (!work || (workItem.type !== 'bead' && workItem.type !== 'task')) continue
        const waitsFor = work.move?.data?.waitsFor
        found.push({
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
    return found.sort((a, b) => a.since.localeCompare(b.since))
  }

  /**
   * A person lets an item go on: it can be given to agents again, and what the guards saw so far counts no more. What
   * waited for it goes on by itself.
   *
   * @throws {NotFound} when nobody added it
   * @throws {IllegalState} when it is done
   */
  async clear(item: DispatchedItem, reason?: string, write?: WriteOptions): Promise<void> {
    const checked = parseInput(WorkItem, item)
    const known = (await this.#access.find(checked))?.info.work
    const to =
      known?.type === 'task' ? (known.heldIn ?? known.state) : known?.state === 'parked' ? 'open' : known?.state
    if (known?.type !== 'task' && known?.state === 'done') {
      throw new IllegalState('It is done: there is nothing to let go on.', { item })
    }
    if (known && to !== undefined && to !== known.state && !legalMoves(known.type, known.state, to).includes(to)) {
      throw new IllegalState(`It cannot go from ${known.state} to ${to}.`, { item, from: known.state, to })
    }
    const decide = clearGuards(checked, reason, to ?? 'open', this.#access.newConversation(''))
    await this.#access.write(checked, decide, ['clearGuards', item, reason], write)
  }

  #here(): Dispatcher[] {
    return [...this.#running].filter(([, project]) => project === this.#scope.project).map(([one]) => one)
  }
}
