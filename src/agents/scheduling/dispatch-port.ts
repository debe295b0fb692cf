/** The port of a dispatcher: the queue of ready items, their leases, and the log. */
import { type KeptLease, keepAny } from '../../conversation/access/renewed-lease.ts'
import type { WorkAccess } from '../../conversation/work/work-access.ts'
import type { WorkManager } from '../../conversation/work/work-manager.ts'
import { endDispatch, startDispatch } from '../../log/commands/work/dispatch.ts'
import type { Engine, Scope } from '../../log/engine.ts'
import { isOfType } from '../../log/events/recorded-event.ts'
import { TaskState } from '../../log/events/work/work.ts'
import { printOf } from '../../log/views/text-sketch.ts'
import { agentFor } from '../../log/views/work/state-transitions.ts'
import type { AgentManager } from '../runs/agent-manager.ts'
import { itemLease, reserveSlots, slotNames } from './dispatch-leases.ts'
import type { DispatchSettings } from './dispatch-settings.ts'
import type { Candidate, DispatchPort, ParkedCandidate, StartResult } from './dispatcher.ts'
import { backOff, findGuard, waitsUntil } from './guards.ts'
import { settleWaiting } from './waiting-beads.ts'
import { workChanges } from './work-changes.ts'
import type { DispatchedItem, Job, TaskWorker, WorkDone, Worker } from './worker.ts'

interface DispatchServices {
  engine: Engine
  scope: Scope
  access: WorkAccess
  work: WorkManager
  agents: AgentManager
  settings: DispatchSettings
  /** Without a worker for tasks, only beads are taken. */
  workers: { bead: Worker; task?: TaskWorker }
  node: string
}

/** Read at once, so that items of other dispatchers are skipped without a query each. */
const maxCandidates = 200

export class ProjectDispatchPort implements DispatchPort {
  readonly node: string
  readonly #services: DispatchServices
  readonly #changes: ReturnType<typeof workChanges>
  /** Retry times of items that failed here, by lease. */
  readonly #retryTimes = new Map<string, number>()
  /** This dispatcher parked something. Changes of other processes are read from the log. */
  #hasParked = false

  constructor(services: DispatchServices) {
    this.#services = services
    this.node = services.node
    this.#changes = workChanges(services.engine.store, services.scope.project)
  }

  now(): number {
    return this.#services.engine.clock()
  }

  async ready(): Promise<Candidate[]> {
    const { work, workers } = this.#services
    const kinds = workers.task ? (['task', 'bead'] as const) : (['bead'] as const)
    const items = await work.ready({ kinds, limit: maxCandidates })
    const tasks = await workers.task?.choose(items.flatMap(({ item }) => (item.type === 'task' ? [item] : [])))
    return items
      .filter(({ item }) => item.type === 'bead' || tasks?.has(JSON.stringify([item.featureId, item.taskId])))
      .map(({ item, title, state, priority }) => ({ item, title, state, priority, lease: itemLease(item) }))
  }

  claim(names: readonly string[]): Promise<KeptLease | undefined> {
    const { engine, scope, settings } = this.#services
    return keepAny(engine, { project: scope.project, names, holder: this.node, forMs: settings.leaseMs })
  }

  async agentFor({ item, state }: Candidate): Promise<string> {
    const { access, settings } = this.#services
    // The state of a task names its agent; the task's worker does the rest.
    if (item.type === 'task') return agentFor('task', state) ?? 'dev'
    const info = (await access.find(item))?.info
    const assigned = info?.work?.type === 'bead' ? (info.work.agent ?? settings.agent) : undefined
    return info?.dispatches?.next?.agent ?? assigned ?? 'dev'
  }

  async reserveSlot(agent: string) {
    const { agents, settings } = this.#services
    return reserveSlots(await slotNames(agents, settings, agent), names => this.claim(names))
  }

  async start({ item, title }: Candidate, agent: string, lease: KeptLease): Promise<StartResult> {
    const { engine, access, settings } = this.#services
    const { guards } = settings
    const dispatchId = engine.newId()
    const handOver = (await access.find(item))?.info.dispatches?.next
    const decide = startDispatch({
      item,
      dispatchId,
      agent,
      node: this.node,
      ...dispatchStates(item),
      guard: state => findGuard(state, agent, guards),
      waitsUntil: state => waitsUntil(state, guards),
      conversation: access.newConversation(title),
    })
    const { events, conversation } = await access.write(item, decide, [], { fence: lease.fence })
    const started = events.find(recorded => isOfType(recorded, 'dispatch.started'))
    if (started) {
      const { work, dispatches } = conversation!.info
      const state = work?.state ?? started.event.state
      const job = { dispatchId, item, title, state, agent, hop: dispatches!.hops, fence: lease.fence }
      return { state: 'started', job: handOver?.agent === agent ? { ...job, message: handOver.message } : job }
    }
    const moved = events.find(recorded => isOfType(recorded, 'work.moved'))
    if (moved) {
      this.#hasParked = true
      return { state: 'parked', reason: moved.event.reason ?? '' }
    }
    const until = waitsUntil(conversation?.info.dispatches, guards)
    if (until > this.now()) this.#retryTimes.set(lease.name, until)
    return { state: 'skipped' }
  }

  work(job: Job, signal: AbortSignal): Promise<WorkDone> {
    const { bead, task } = this.#services.workers
    return job.item.type === 'bead' ? bead(job, signal) : task!.work(job, signal)
  }

  async end(job: Job, result: WorkDone): Promise<void> {
    const { access, settings } = this.#services
    const { guards } = settings
    const { dispatchId, item, agent, title, fence } = job
    const { outcome, reason, summary, text, next, sessionId } = result
    const decide = endDispatch({
      item,
      dispatchId,
      agent,
      sessionId,
      outcome,
      ...(reason !== undefined && { reason }),
      ...(summary !== undefined && { summary }),
      ...(text !== undefined && { print: printOf(text.slice(0, 20_000)) }),
      ...(next && { next }),
      to: result.to ?? stateAfter(item, outcome),
      waitMs: state => Math.max(guards.coolDownMs, outcome === 'failed' ? backOff(state, guards) : 0),
      conversation: access.newConversation(title),
    })
    const { conversation } = await access.write(item, decide, [], { fence })
    this.#hasParked ||= outcome === 'parked'
    const notBefore = conversation?.info.work?.attempts?.notBefore
    if (notBefore !== undefined) this.#retryTimes.set(itemLease(item), Date.parse(notBefore))
  }

  async settle(): Promise<ParkedCandidate[]> {
    const isConcerned = this.#changes.concernedParked()
    if (!isConcerned && !this.#hasParked) return []
    this.#hasParked = false
    return settleWaiting(this.#services.access, this.#services.work)
  }

  async nextTry(ofAll: boolean): Promise<number | undefined> {
    const now = this.now()
    for (const [name, until] of this.#retryTimes) if (until <= now) this.#retryTimes.delete(name)
    const times = [...this.#retryTimes.values(), ...(ofAll ? await this.#recordedRetryTimes(now) : [])]
    return times.length === 0 ? undefined : Math.min(...times)
  }

  changed(signal: AbortSignal): Promise<void> {
    return this.#changes.next(signal)
  }

  close(): Promise<void> {
    return this.#changes.close()
  }

  async #recordedRetryTimes(now: number): Promise<number[]> {
    const times: number[] = []
    const open = { type: 'bead', states: ['open', 'in_progress'], status: ['active'] } as const
    for await (const { info } of this.#services.access.walk(open)) {
      const time = Date.parse(info.work?.attempts?.notBefore ?? '')
      if (time > now) times.push(time)
    }
    return times
  }
}

/** States an item is dispatched from, its state while dispatched, and after a guard. A task is moved by its worker. */
function dispatchStates({ type }: DispatchedItem) {
  if (type === 'bead') return { states: ['open', 'in_progress'], to: 'in_progress', parkedIn: 'parked' }
  const states = TaskState.options.filter(state => agentFor('task', state) !== undefined)
  return { states, to: undefined, parkedIn: 'blocked' }
}

function stateAfter({ type }: DispatchedItem, outcome: WorkDone['outcome']): string | undefined {
  if (type === 'task') return outcome === 'parked' ? 'blocked' : undefined
  return outcome === 'done' || outcome === 'parked' ? outcome : undefined
}
