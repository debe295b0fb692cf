/** The metrics of a server: requests, events, streams, queues, memory, and the totals of each project. */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Colloquy } from '../../index.ts'
import type { ProjectTotals } from '../../log/directory.ts'
import type { ModelQueue } from '../../models/open.ts'
import type { Streams } from '../live/streams.ts'
import { version } from '../version.ts'
import { nodeName } from './nodes.ts'
import { counter, durations, metric } from './prometheus.ts'

/** The kinds of request whose time is measured apart. */
export type RequestKind = 'append' | 'request' | 'other'

export interface Metrics {
  /** Counts a request that was answered. */
  answered(method: string, status: number, seconds: number, kind: RequestKind): void
  render(streams: Streams): Promise<string>
  /** Lists the compactions under way now. */
  compacting(): Compaction[]
  close(): void
}

interface Compaction {
  sessionId: string
  project: string
  since: string
}

export function metrics(colloquy: Colloquy): Metrics {
  const requests = counter('colloquy_http_requests_total', 'Requests answered.')
  const events = counter('colloquy_events_total', 'Events this server recorded since it started.')
  const times = {
    append: durations('colloquy_append_seconds', 'Time of appends over HTTP.'),
    request: durations('colloquy_request_seconds', 'Time of requests over HTTP.'),
    other: durations('colloquy_other_seconds', 'Time of others over HTTP.'),
  }
  const compactions = compactionsUnderWay()
  const delay = monitorEventLoopDelay({ resolution: 10 })
  delay.enable()
  const totals = cachedTotals(colloquy)
  const stopCounting = colloquy.onRecorded(recorded => {
    for (const { event, project, at } of recorded) {
      events.add({ type: event.type })
      if (event.type === 'compaction.started') compactions.start({ sessionId: event.sessionId, project, since: at })
      if (event.type === 'checkpoint.taken' || event.type === 'compaction.failed') compactions.end(event.sessionId)
    }
  })

  /** Reports the delays since the last call. */
  function eventLoopDelay(): string {
    const samples = [50, 99, 100].map(
      percent => [{ quantile: String(percent / 100) }, seconds(delay.percentile(percent))] as const,
    )
    delay.reset()
    return metric('gauge', 'colloquy_event_loop_delay_seconds', 'Since the last look.', samples)
  }

  return {
    compacting: compactions.list,
    answered(method, status, seconds, kind) {
      requests.add({ method, status: String(status) })
      times[kind].observe(seconds)
    },
    async render(streams) {
      const projects = await totals()
      return [
        requests.text(),
        times.append.text(),
        times.request.text(),
        times.other.text(),
        events.text(),
        ...streamMetrics(streams),
        ...queueMetrics(colloquy),
        eventLoopDelay(),
        ...processMetrics(),
        metric('gauge', 'colloquy_compactions_running', 'Compactions under way.', compactions.list().length),
        ...projectMetrics(projects),
      ].join('\n')
    },
    close() {
      stopCounting()
      delay.disable()
    },
  }
}

/** The lease of a compaction ends before that, so an older one belongs to a process that died. */
const longestCompactionMs = 150_000

function compactionsUnderWay() {
  const running = new Map<string, Compaction & { startedAt: number }>()
  return {
    start: (of: Compaction) => running.set(of.sessionId, { ...of, startedAt: performance.now() }),
    end: (sessionId: string) => running.delete(sessionId),
    list(): Compaction[] {
      const oldest = performance.now() - longestCompactionMs
      for (const [sessionId, { startedAt }] of running) if (startedAt < oldest) running.delete(sessionId)
      return [...running.values()]
    },
  }
}

type Totals = ReadonlyArray<readonly [project: string, totals: ProjectTotals]>

const totalsCachedMs = 5_000

/** Sums up the projects at most every five seconds: it reads every conversation. */
function cachedTotals(colloquy: Colloquy): () => Promise<Totals> {
  let cache: { at: number; totals: Promise<Totals> } | undefined
  return () => {
    const now = performance.now()
    if (!cache || now - cache.at > totalsCachedMs) {
      cache = { at: now, totals: totalsOf(colloquy) }
      cache.totals.catch(() => {
        cache = undefined
      })
    }
    return cache.totals
  }
}

async function totalsOf(colloquy: Colloquy): Promise<Totals> {
  const totals: Array<[string, ProjectTotals]> = []
  for (const project of await colloquy.projects()) totals.push([project, await colloquy.as({ project }).stats()])
  return totals
}

function streamMetrics({ count, dropped, unread }: Streams): string[] {
  return [
    metric('gauge', 'colloquy_subscribers', 'Live streams.', count),
    metric('counter', 'colloquy_subscribers_dropped_total', 'Streams cut because nobody read.', dropped),
    metric('gauge', 'colloquy_subscribers_unread', 'Live streams that have not read the last piece.', unread),
  ]
}

function queueMetrics(colloquy: Colloquy): string[] {
  const { writes, models, live, runs } = colloquy.queues()
  const perModel = (count: (queue: ModelQueue) => number) => {
    const sums = new Map<string, number>()
    for (const queue of models) sums.set(queue.model, (sums.get(queue.model) ?? 0) + count(queue))
    return [...sums].map(([model, sum]) => [{ model }, sum] as const)
  }
  const running = perModel(queue => queue.inside)
  const waiting = perModel(queue => queue.waiting)
  return [
    metric('gauge', 'colloquy_live_waiting_characters', 'Live words that wait for slow readers.', live.characters),
    metric('gauge', 'colloquy_writes_waiting', 'Writes that wait for a commit.', writes.waiting),
    metric('gauge', 'colloquy_writes_waiting_most', 'The most that waited since the last look.', writes.most),
    metric('gauge', 'colloquy_model_calls_running', 'Calls under way.', running),
    metric('gauge', 'colloquy_model_calls_waiting', 'Calls that wait their turn.', waiting),
    metric('gauge', 'colloquy_runs_running', 'Runs of agents under way in this process.', runs),
  ]
}

function processMetrics(): string[] {
  const { rss, heapUsed } = process.memoryUsage()
  const started = [[{ node: nodeName, version }, Math.round(performance.timeOrigin / 1000)]] as const
  return [
    metric('gauge', 'colloquy_node_started_seconds', 'When this process began, by its name.', started),
    metric('gauge', 'colloquy_resident_bytes', 'Memory of the process.', rss),
    metric('gauge', 'colloquy_heap_bytes', 'Of it, JavaScript objects.', heapUsed),
  ]
}

const totalNames = [
  'conversations',
  'sessions',
  'events',
  'messages',
  'tokens',
  'input',
  'output',
  'compactions',
] as const

function projectMetrics(totals: Totals): string[] {
  return totalNames.map(name => {
    const samples = totals.map(([project, sums]) => [{ project }, sums[name]] as const)
    return metric('gauge', `colloquy_project_${name}`, `Of each project: ${name}.`, samples)
  })
}

/** Converts nanoseconds; without a measurement there is no number. */
function seconds(nanoseconds: number): number {
  return Number.isFinite(nanoseconds) ? nanoseconds / 1e9 : 0
}
