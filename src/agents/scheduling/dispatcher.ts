/**
 * The dispatcher: takes what can be done next, gives it to the agent it is for, and takes it back with what came of it,
 * again and again. As many as there are share one queue: an item is taken by its lease, and whatever is written about
 * it carries that lease, so that one that was paused past its time cannot write over its successor.
 *
 * All its state is the log. What it was at when it died is taken by the next one when the lease has run out.
 */

import type { KeptLease } from '../../conversation/access/renewed-lease.ts'
import { LeaseLost, StoreBusy, StoreFailed } from '../../errors.ts'
import type { DispatchOutcome } from '../../log/events/work/dispatch.ts'
import { timerMs } from '../../timers.ts'
import type { DispatchedItem, Job, WorkDone, Worker } from './worker.ts'

/** Something that can be done now. */
export interface Candidate {
  item: DispatchedItem
  title: string
  state: string
  priority: number
  /** The name of its lease. */
  lease: string
}

type Started =
  | { state: 'started'; job: Job }
  /** A guard keeps it. */
  | { state: 'parked'; reason: string }
  /** It is not to be done any more, or not yet. */
  | { state: 'left' }

/** What a dispatcher may ask of the rest of the product. */
export interface DispatcherDesk {
  readonly node: string
  /** By priority, then by age. */
  ready(): Promise<Candidate[]>
  /** The first of these that nobody has. */
  claim(names: readonly string[]): Promise<KeptLease | undefined>
  /** Who it is for now: the one it was handed to, or given to, or whom its state calls for. */
  agentFor(candidate: Candidate): Promise<string>
  /** A place for one more, in the project and on the agent's model; undefined when all are taken. */
  place(agent: string): Promise<{ release(): Promise<void> } | undefined>
  start(candidate: Candidate, agent: string, lease: KeptLease): Promise<Started>
  work: Worker
  end(job: Job, done: WorkDone): Promise<void>
  /** Parks what waits for something that is parked, and lets it go again. Gives what was parked. */
  settle(): Promise<Array<{ item: DispatchedItem; title: string; reason: string }>>
  /** When the next item is to be tried again, as far as it is known here; or `ofAll`, whoever tried it last. */
  nextTry(ofAll: boolean): Promise<number | undefined>
  /** Resolves when something about work has changed since it was last asked. */
  changed(signal: AbortSignal): Promise<void>
  now(): number
  /** Nothing is asked of it any more. */
  close(): Promise<void>
}

export type DispatchUpdate = { item: DispatchedItem; title: string; at: string } & (
  | { type: 'started'; agent: string; hop: number; priority: number }
  | { type: 'ended'; agent: string; outcome: DispatchOutcome; reason?: string; summary?: string; tookMs: number }
  | { type: 'parked'; reason: string }
  /** Somebody else has the item now: what was done for it here does not count. */
  | { type: 'lost'; agent: string }
)

interface DispatchInput {
  /** How many items at a time in this process. */
  concurrency: number
  /** Ends when there is nothing left to do, nothing under way here, and nothing to be tried again. */
  once: boolean
  /** How often to look without having been told of a change. */
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
  /** Takes nothing more, stops what is under way (what was said is kept) and resolves when that is over. */
  stop(): Promise<void>
  /** Resolves when it is over; rejects when the store does not answer any more. */
  readonly over: Promise<DispatchCounts>
}

export interface DispatchStatus {
  node: string
  state: 'running' | 'stopping' | 'over'
  concurrency: number
  running: ReadonlyArray<{ item: DispatchedItem; title: string; agent: string; hop: number; startedAt: string }>
  counts: DispatchCounts
}

export function startDispatcher(desk: DispatcherDesk, input: DispatchInput): Dispatcher {
  const stopping = new AbortController()
  const running = new Map<string, { job: Job; startedAt: number; over: Promise<void> }>()
  const counts: DispatchCounts = { started: 0, done: 0, continued: 0, failed: 0, parked: 0, stopped: 0, lost: 0 }
  let isOver = false
  let wake = () => {}

  const at = () => new Date(desk.now()).toISOString()
  const tell = (update: DispatchUpdate) => input.onUpdate?.(update)

  function tellParked({ item, title, reason }: { item: DispatchedItem; title: string; reason: string }): void {
    counts.parked++
    tell({ type: 'parked', item, title, reason, at: at() })
  }

  /** Takes as much as there is room for. */
  async function fill(): Promise<void> {
    if (running.size >= input.concurrency) return
    let candidates = (await desk.ready()).filter(one => !running.has(one.lease))
    while (running.size < input.concurrency && !stopping.signal.aborted && candidates.length > 0) {
      const lease = await desk.claim(candidates.map(one => one.lease))
      if (!lease) return
      const index = candidates.findIndex(one => one.lease === lease.name)
      await begin(candidates[index]!, lease)
      // Those before it were taken by others.
      candidates = candidates.slice(index + 1)
    }
  }

  async function begin(candidate: Candidate, lease: KeptLease): Promise<void> {
    const { item, title, priority } = candidate
    let place: Awaited<ReturnType<DispatcherDesk['place']>>
    let isKept = false
    try {
      const agent = await desk.agentFor(candidate)
      place = await desk.place(agent)
      if (!place) return
      const started = await desk.start(candidate, agent, lease)
      if (started.state === 'parked') tellParked({ item, title, reason: started.reason })
      if (started.state !== 'started') return
      isKept = true
      counts.started++
      const { job } = started
      tell({ type: 'started', item, title, agent: job.agent, hop: job.hop, priority, at: at() })
      const taken = place
      const over = carryOut(job, lease).finally(async () => {
        running.delete(lease.name)
        await Promise.allSettled([taken.release(), lease.release()])
        wake()
      })
      running.set(lease.name, { job, startedAt: desk.now(), over })
      // Whatever the store refuses here it refuses the loop, too, which says so.
      over.catch(() => undefined)
    } catch (error) {
      if (!(error instanceof LeaseLost)) throw error
    } finally {
      if (!isKept) await Promise.allSettled([place?.release(), lease.release()])
    }
  }

  async function carryOut(job: Job, lease: KeptLease): Promise<void> {
    const { item, title, agent } = job
    const startedAt = desk.now()
    const signal = AbortSignal.any([stopping.signal, lease.lost])
    const done = await desk.work(job, signal).catch((error): WorkDone => {
      if (signal.aborted) return { outcome: 'stopped', reason: 'it was stopped' }
      return { outcome: 'failed', reason: error instanceof Error ? error.message : String(error) }
    })
    try {
      if (lease.lost.aborted) throw new LeaseLost(lease.fence)
      await desk.end(job, done)
    } catch (error) {
      if (!(error instanceof LeaseLost)) throw error
      counts.lost++
      tell({ type: 'lost', item, title, agent, at: at() })
      return
    }
    const { outcome, reason, summary } = done
    counts[outcome === 'continues' ? 'continued' : outcome]++
    tell({
      type: 'ended',
      item,
      title,
      agent,
      outcome,
      ...(reason !== undefined && { reason }),
      ...(summary !== undefined && { summary }),
      tookMs: Math.max(0, desk.now() - startedAt),
      at: at(),
    })
  }

  /** Looks once and takes what there is. Gives how long to wait for the next look; undefined when all is done. */
  async function look(): Promise<number | undefined> {
    await fill()
    const parked = await desk.settle()
    for (const one of parked) tellParked(one)
    // What was parked just now, others may wait for.
    if (parked.length > 0) return 0
    const mayEnd = input.once && running.size === 0
    const next = await desk.nextTry(mayEnd)
    if (mayEnd && next === undefined && !(await hasMore())) return undefined
    return next === undefined ? input.lookEveryMs : Math.min(input.lookEveryMs, next - desk.now())
  }

  async function loop(): Promise<void> {
    while (!stopping.signal.aborted) {
      const waiting = new AbortController()
      const either = AbortSignal.any([waiting.signal, stopping.signal])
      // Listened for from before the look, so that nothing falls in between.
      const changed = desk.changed(either)
      const woken = new Promise<void>(resolve => {
        wake = resolve
      })
      try {
        const waitMs = await look().catch(error => {
          if (!isPassing(error)) throw error
          return input.lookEveryMs
        })
        if (waitMs === undefined) return
        await Promise.race([changed, woken, pause(waitMs, either)])
      } finally {
        waiting.abort()
        await changed
      }
    }
  }

  /** Whether something is ready that nobody has. */
  async function hasMore(): Promise<boolean> {
    const names = (await desk.ready()).map(one => one.lease)
    const lease = await desk.claim(names)
    await lease?.release()
    return lease !== undefined
  }

  async function whole(): Promise<DispatchCounts> {
    try {
      await loop()
    } finally {
      stopping.abort()
      await Promise.allSettled([...running.values()].map(one => one.over))
      await desk.close()
      isOver = true
    }
    return counts
  }

  const over = whole()
  // Whoever waits for it is told; whoever does not looks at its status.
  over.catch(() => undefined)
  return {
    node: desk.node,
    over,
    status: () => ({
      node: desk.node,
      state: isOver ? 'over' : stopping.signal.aborted ? 'stopping' : 'running',
      concurrency: input.concurrency,
      running: [...running.values()].map(({ job: { item, title, agent, hop }, startedAt }) => ({
        item,
        title,
        agent,
        hop,
        startedAt: new Date(startedAt).toISOString(),
      })),
      counts: { ...counts },
    }),
    async stop() {
      stopping.abort()
      await over.catch(() => undefined)
    },
  }
}

/** The store is away or busy; a dispatcher outlives that. */
function isPassing(error: unknown): boolean {
  return error instanceof StoreBusy || error instanceof StoreFailed
}

/** A short time at least: a clock that stands still must not make a busy loop. */
const soonestMs = 5

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const timer = setTimeout(resolve, timerMs(Math.max(soonestMs, milliseconds)))
    const end = () => {
      clearTimeout(timer)
      resolve()
    }
    if (signal.aborted) end()
    else signal.addEventListener('abort', end, { once: true })
  })
}
