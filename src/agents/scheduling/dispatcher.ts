/**
 * The dispatcher: takes items that are ready, runs their agents, and records the results, repeatedly. All dispatchers of
 * a project share one queue. An item is claimed by its lease, and every write about it carries that lease, so a stalled
 * dispatcher cannot overwrite its successor.
 *
 * All its state is in the log. When a dispatcher dies, another one takes its items once their leases have run out.
 */

import type { KeptLease } from '../../conversation/access/renewed-lease.ts'
import { LeaseLost, StoreBusy, StoreFailed } from '../../errors.ts'
import type { DispatchOutcome } from '../../log/events/work/dispatch.ts'
import { timerMs } from '../../timers.ts'
import type { DispatchedItem, Job, WorkDone, Worker } from './worker.ts'

/** An item that is ready. */
export interface Candidate {
  item: DispatchedItem
  title: string
  state: string
  priority: number
  /** The name of its lease. */
  lease: string
}

export type StartResult =
  | { state: 'started'; job: Job }
  /** A guard tripped. */
  | { state: 'parked'; reason: string }
  /** It is not ready any more, or has to wait. */
  | { state: 'skipped' }

export interface ParkedCandidate {
  item: DispatchedItem
  title: string
  reason: string
}

/** The port through which a dispatcher reaches the rest of the product. */
export interface DispatchPort {
  readonly node: string
  /** Returns ready items by priority, then by age. */
  ready(): Promise<Candidate[]>
  /** Claims the first lease that is free. */
  claim(names: readonly string[]): Promise<KeptLease | undefined>
  /** Returns the agent for an item: from a hand-over, its assignment or its state. */
  agentFor(candidate: Candidate): Promise<string>
  /** Reserves a slot of the project and of the agent's model. Undefined when all are taken. */
  reserveSlot(agent: string): Promise<{ release(): Promise<void> } | undefined>
  start(candidate: Candidate, agent: string, lease: KeptLease): Promise<StartResult>
  work: Worker
  end(job: Job, result: WorkDone): Promise<void>
  /** Parks items that wait for a parked one, and reopens them when that one continues. Returns the parked ones. */
  settle(): Promise<ParkedCandidate[]>
  /** Time of the next retry: of items that failed here, or with `ofAll` of every item. */
  nextTry(ofAll: boolean): Promise<number | undefined>
  /** Resolves when work has changed since the last call. */
  changed(signal: AbortSignal): Promise<void>
  now(): number
  close(): Promise<void>
}

export type DispatchUpdate = { item: DispatchedItem; title: string; at: string } & (
  | { type: 'started'; agent: string; hop: number; priority: number }
  | { type: 'ended'; agent: string; outcome: DispatchOutcome; reason?: string; summary?: string; tookMs: number }
  | { type: 'parked'; reason: string }
  /** Another dispatcher has the item now, and this result does not count. */
  | { type: 'lost'; agent: string }
)

interface DispatcherInput {
  /** Maximum number of items at a time in this process. */
  concurrency: number
  /** Ends when nothing is ready, running, or waiting for a retry. */
  once: boolean
  /** Poll interval while no change is reported. */
  lookEveryMs: number
  onUpdate?: (update: DispatchUpdate) => void
}

export interface DispatchCounts {
  started: number
  done: number
  continued: number
  failed: number
  parked: number
  stopped: number
  lost: number
}

export interface Dispatcher {
  readonly node: string
  status(): DispatchStatus
  /** Takes no more items, stops the running ones, and resolves when they have ended. Their messages are kept. */
  stop(): Promise<void>
  /** Resolves when it has ended; rejects when the store keeps failing. */
  readonly over: Promise<DispatchCounts>
}

export interface DispatchStatus {
  node: string
  state: 'running' | 'stopping' | 'over'
  concurrency: number
  running: ReadonlyArray<{ item: DispatchedItem; title: string; agent: string; hop: number; startedAt: string }>
  counts: DispatchCounts
}

export function startDispatcher(port: DispatchPort, input: DispatcherInput): Dispatcher {
  return new RunningDispatcher(port, input)
}

class RunningDispatcher implements Dispatcher {
  readonly node: string
  readonly over: Promise<DispatchCounts>
  readonly #port: DispatchPort
  readonly #input: DispatcherInput
  readonly #stopping = new AbortController()
  readonly #running = new Map<string, { job: Job; startedAt: number; over: Promise<void> }>()
  readonly #counts: DispatchCounts = { started: 0, done: 0, continued: 0, failed: 0, parked: 0, stopped: 0, lost: 0 }
  #isOver = false
  /** Ends the pause between two rounds. */
  #wake = () => {}

  constructor(port: DispatchPort, input: DispatcherInput) {
    this.#port = port
    this.#input = input
    this.node = port.node
    this.over = this.#run()
    // A failure is also visible in the status, so callers need not await this promise.
    this.over.catch(() => undefined)
  }

  status(): DispatchStatus {
    return {
      node: this.node,
      state: this.#isOver ? 'over' : this.#stopping.signal.aborted ? 'stopping' : 'running',
      concurrency: this.#input.concurrency,
      running: [...this.#running.values()].map(({ job: { item, title, agent, hop }, startedAt }) => ({
        item,
        title,
        agent,
        hop,
        startedAt: new Date(startedAt).toISOString(),
      })),
      counts: { ...this.#counts },
    }
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.over.catch(() => undefined)
  }

  async #run(): Promise<DispatchCounts> {
    try {
      await this.#loop()
    } finally {
      this.#stopping.abort()
      await Promise.allSettled([...this.#running.values()].map(({ over }) => over))
      await this.#port.close()
      this.#isOver = true
    }
    return this.#counts
  }

  async #loop(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      const waiting = new AbortController()
      const signal = AbortSignal.any([waiting.signal, this.#stopping.signal])
      // Listens before the round starts, so that no change is missed.
      const changed = this.#port.changed(signal)
      const woken = new Promise<void>(resolve => {
        this.#wake = resolve
      })
      try {
        const waitMs = await this.#round().catch(error => {
          if (!isTransient(error)) throw error
          return this.#input.lookEveryMs
        })
        if (waitMs === undefined) return
        await Promise.race([changed, woken, pause(waitMs, signal)])
      } finally {
        waiting.abort()
        await changed
      }
    }
  }

  /** Takes the items that are ready. Returns the time until the next round; undefined when all is done. */
  async #round(): Promise<number | undefined> {
    const { once, lookEveryMs } = this.#input
    await this.#fill()
    const parked = await this.#port.settle()
    for (const candidate of parked) this.#reportParked(candidate)
    // Other items may wait for those that were just parked.
    if (parked.length > 0) return 0
    const mayEnd = once && this.#running.size === 0
    const next = await this.#port.nextTry(mayEnd)
    if (mayEnd && next === undefined && !(await this.#hasMore())) return undefined
    return next === undefined ? lookEveryMs : Math.min(lookEveryMs, next - this.#port.now())
  }

  async #fill(): Promise<void> {
    if (this.#running.size >= this.#input.concurrency) return
    let candidates = (await this.#port.ready()).filter(({ lease }) => !this.#running.has(lease))
    while (this.#running.size < this.#input.concurrency && !this.#stopping.signal.aborted && candidates.length > 0) {
      const lease = await this.#port.claim(candidates.map(candidate => candidate.lease))
      if (!lease) return
      const index = candidates.findIndex(candidate => candidate.lease === lease.name)
      await this.#begin(candidates[index]!, lease)
      // Other dispatchers have those before it.
      candidates = candidates.slice(index + 1)
    }
  }

  /** True when something is ready that no dispatcher has. */
  async #hasMore(): Promise<boolean> {
    const candidates = await this.#port.ready()
    const lease = await this.#port.claim(candidates.map(candidate => candidate.lease))
    await lease?.release()
    return lease !== undefined
  }

  async #begin(candidate: Candidate, lease: KeptLease): Promise<void> {
    const { item, title, priority } = candidate
    let slot: Awaited<ReturnType<DispatchPort['reserveSlot']>>
    let isRunning = false
    try {
      const agent = await this.#port.agentFor(candidate)
      slot = await this.#port.reserveSlot(agent)
      if (!slot) return
      const result = await this.#port.start(candidate, agent, lease)
      if (result.state === 'parked') this.#reportParked({ item, title, reason: result.reason })
      if (result.state !== 'started') return
      isRunning = true
      const { job } = result
      this.#counts.started++
      this.#report({ type: 'started', item, title, agent: job.agent, hop: job.hop, priority, at: this.#timestamp() })
      this.#keepRunning(job, lease, slot)
    } catch (error) {
      if (!(error instanceof LeaseLost)) throw error
    } finally {
      if (!isRunning) await Promise.allSettled([slot?.release(), lease.release()])
    }
  }

  #keepRunning(job: Job, lease: KeptLease, slot: { release(): Promise<void> }): void {
    const startedAt = this.#port.now()
    const over = this.#carryOut(job, lease).finally(async () => {
      this.#running.delete(lease.name)
      await Promise.allSettled([slot.release(), lease.release()])
      this.#wake()
    })
    this.#running.set(lease.name, { job, startedAt, over })
    // A failing store also fails the loop, which reports it.
    over.catch(() => undefined)
  }

  async #carryOut(job: Job, lease: KeptLease): Promise<void> {
    const { item, title, agent } = job
    const startedAt = this.#port.now()
    const signal = AbortSignal.any([this.#stopping.signal, lease.lost])
    const result = await this.#port.work(job, signal).catch((error): WorkDone => {
      if (signal.aborted) return { outcome: 'stopped', reason: 'it was stopped' }
      return { outcome: 'failed', reason: error instanceof Error ? error.message : String(error) }
    })
    try {
      if (lease.lost.aborted) throw new LeaseLost(lease.fence)
      await this.#port.end(job, result)
    } catch (error) {
      if (!(error instanceof LeaseLost)) throw error
      this.#counts.lost++
      this.#report({ type: 'lost', item, title, agent, at: this.#timestamp() })
      return
    }
    const { outcome, reason, summary } = result
    this.#counts[outcome === 'continues' ? 'continued' : outcome]++
    this.#report({
      type: 'ended',
      item,
      title,
      agent,
      outcome,
      ...(reason !== undefined && { reason }),
      ...(summary !== undefined && { summary }),
      tookMs: Math.max(0, this.#port.now() - startedAt),
      at: this.#timestamp(),
    })
  }

  #reportParked({ item, title, reason }: ParkedCandidate): void {
    this.#counts.parked++
    this.#report({ type: 'parked', item, title, reason, at: this.#timestamp() })
  }

  #report(update: DispatchUpdate): void {
    this.#input.onUpdate?.(update)
  }

  #timestamp(): string {
    return new Date(this.#port.now()).toISOString()
  }
}

/** The store is busy or unreachable, which a dispatcher outlives. */
function isTransient(error: unknown): boolean {
  return error instanceof StoreBusy || error instanceof StoreFailed
}

/** Prevents a busy loop when the clock stands still. */
const minPauseMs = 5

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const timer = setTimeout(resolve, timerMs(Math.max(minPauseMs, milliseconds)))
    const end = () => {
      clearTimeout(timer)
      resolve()
    }
    if (signal.aborted) end()
    else signal.addEventListener('abort', end, { once: true })
  })
}
