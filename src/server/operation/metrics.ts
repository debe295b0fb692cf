/** What a server counts of itself, and how Prometheus reads it. */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Colloquy, ModelQueue, ProjectTotals } from '../../index.ts'
import type { Streams } from '../streams.ts'
import { version } from '../version.ts'
import { nodeName } from './nodes.ts'

const boundsSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

interface Histogram {
  counts: number[]
  sum: number
  count: number
}

export interface Figures {
  /** A request was answered. `kind` is 'append' or 'request' for those whose time matters most. */
  answered(method: string, status: number, seconds: number, kind: 'append' | 'request' | 'other'): void
  render(colloquy: Colloquy, streams: Streams): Promise<string>
  /** Compactions under way now. */
  compacting(): Compaction[]
  close(): void
}

interface Compaction {
  sessionId: string
  project: string
  since: string
}

/** Longer than the lease of a compaction holds: whose process died says nothing any more. */
const longestCompactionMs = 150_000

function compactionsUnderWay() {
  const known = new Map<string, Compaction & { heardAt: number }>()
  return {
    started: (of: Compaction) => known.set(of.sessionId, { ...of, heardAt: performance.now() }),
    ended: (sessionId: string) => known.delete(sessionId),
    now(): Compaction[] {
      const oldest = performance.now() - longestCompactionMs
      for (const [sessionId, { heardAt }] of known) if (heardAt < oldest) known.delete(sessionId)
      return [...known.values()]
    },
  }
}

export function figures(colloquy: Colloquy): Figures {
  const requests = new Map<string, number>()
  const times: Record<'append' | 'request' | 'other', Histogram> = {
    append: histogram(),
    request: histogram(),
    other: histogram(),
  }
  const happened = new Map<string, number>()
  const compacting = compactionsUnderWay()
  const delay = monitorEventLoopDelay({ resolution: 10 })
  delay.enable()
  let summed: { at: number; totals: Promise<Totals> } | undefined
  const stopCounting = colloquy.onRecorded(events => {
    for (const { event, project, at } of events) {
      happened.set(event.type, (happened.get(event.type) ?? 0) + 1)
      if (event.type === 'compaction.started') compacting.started({ sessionId: event.sessionId, project, since: at })
      if (event.type === 'checkpoint.taken' || event.type === 'compaction.failed') compacting.ended(event.sessionId)
    }
  })

  /** Summing up looks at every conversation: whoever scrapes often gets what was there a moment ago. */
  function projectTotals(colloquy: Colloquy): Promise<Totals> {
    const now = performance.now()
    if (!summed || now - summed.at > totalsHoldMs) {
      summed = { at: now, totals: totalsOf(colloquy) }
      summed.totals.catch(() => {
        summed = undefined
      })
    }
    return summed.totals
  }

  return {
    compacting: compacting.now,
    answered(method, status, seconds, kind) {
      const key = `method="${method}",status="${status}"`
      requests.set(key, (requests.get(key) ?? 0) + 1)
      const { counts } = times[kind]
      const bound = boundsSeconds.findIndex(bound => seconds <= bound)
      counts[bound < 0 ? boundsSeconds.length : bound]!++
      times[kind].sum += seconds
      times[kind].count++
    },
    async render(colloquy, streams) {
      const totals = await projectTotals(colloquy)
      const { writes, models, live, runs } = colloquy.queues()
      const perModel = (count: (queue: ModelQueue) => number) => {
        const sums = new Map<string, number>()
        for (const queue of models) {
          const label = `model="${escaped(queue.model)}"`
          sums.set(label, (sums.get(label) ?? 0) + count(queue))
        }
        return sums
      }
      const { rss, heapUsed } = process.memoryUsage()
      const seconds = (nanoseconds: number) => (Number.isFinite(nanoseconds) ? nanoseconds / 1e9 : 0)
      const delayed = new Map([
        ['quantile="0.5"', seconds(delay.percentile(50))],
        ['quantile="0.99"', seconds(delay.percentile(99))],
        ['quantile="1"', seconds(delay.max)],
      ])
      delay.reset()
      const byType = new Map([...happened].map(([type, count]) => [`type="${type}"`, count]))
      return [
        ...series('colloquy_http_requests_total', 'counter', 'Requests answered.', requests),
        ...Object.entries(times).flatMap(([kind, times]) => histogramLines(kind, times)),
        ...series('colloquy_events_total', 'counter', 'Events this server recorded since it started.', byType),
        ...single('colloquy_subscribers', 'gauge', 'Live streams.', streams.count),
        ...single('colloquy_subscribers_dropped_total', 'counter', 'Streams cut because nobody read.', streams.dropped),
        ...single(
          'colloquy_subscribers_unread',
          'gauge',
          'Live streams that have not read the last piece.',
          streams.unread,
        ),
        ...single(
          'colloquy_live_waiting_characters',
          'gauge',
          'Live words that wait for slow readers.',
          live.characters,
        ),
        ...single('colloquy_writes_waiting', 'gauge', 'Writes that wait for a commit.', writes.waiting),
        ...single('colloquy_writes_waiting_most', 'gauge', 'The most that waited since the last look.', writes.most),
        ...series(
          'colloquy_model_calls_running',
          'gauge',
          'Calls under way.',
          perModel(queue => queue.inside),
        ),
        ...series(
          'colloquy_model_calls_waiting',
          'gauge',
          'Calls that wait their turn.',
          perModel(queue => queue.waiting),
        ),
        ...single('colloquy_runs_running', 'gauge', 'Runs of agents under way in this process.', runs),
        ...series('colloquy_event_loop_delay_seconds', 'gauge', 'Since the last look.', delayed),
        ...series('colloquy_node_started_seconds', 'gauge', 'When this process began, by its name.', node),
        ...single('colloquy_resident_bytes', 'gauge', 'Memory of the process.', rss),
        ...single('colloquy_heap_bytes', 'gauge', 'Of it, JavaScript objects.', heapUsed),
        ...single('colloquy_compactions_running', 'gauge', 'Compactions under way.', compacting.now().length),
        ...projectLines(totals),
      ].join('\n')
    },
    close() {
      stopCounting()
      delay.disable()
    },
  }
}

/** Which process of those that serve one store this is. */
const node: ReadonlyMap<string, number> = new Map([
  [`node="${escaped(nodeName)}",version="${version}"`, Math.round(performance.timeOrigin / 1000)],
])

type Totals = ReadonlyArray<readonly [project: string, totals: ProjectTotals]>

const totalsHoldMs = 5000

async function totalsOf(colloquy: Colloquy): Promise<Totals> {
  const totals: Array<[string, ProjectTotals]> = []
  for (const project of await colloquy.projects()) totals.push([project, await colloquy.as({ project }).stats()])
  return totals
}

function histogram(): Histogram {
  return { counts: boundsSeconds.map(() => 0).concat(0), sum: 0, count: 0 }
}

function series(name: string, type: string, help: string, values: ReadonlyMap<string, number>): string[] {
  return [...heading(name, type, help), ...[...values].map(([labels, value]) => `${name}{${labels}} ${value}`), '']
}

function single(name: string, type: string, help: string, value: number): string[] {
  return [...heading(name, type, help), `${name} ${value}`, '']
}

function heading(name: string, type: string, help: string): string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`]
}

function histogramLines(kind: string, { counts, sum, count }: Histogram): string[] {
  const name = `colloquy_${kind}_seconds`
  let total = 0
  const buckets = [...boundsSeconds, '+Inf'].map((bound, at) => {
    total += counts[at]!
    return `${name}_bucket{le="${bound}"} ${total}`
  })
  return [
    ...heading(name, 'histogram', `Time of ${kind}s over HTTP.`),
    ...buckets,
    `${name}_sum ${sum}`,
    `${name}_count ${count}`,
    '',
  ]
}

function projectLines(totals: Totals): string[] {
  const fields = [
    'conversations',
    'sessions',
    'events',
    'messages',
    'tokens',
    'input',
    'output',
    'compactions',
  ] as const
  return fields.flatMap(field => {
    const name = `colloquy_project_${field}`
    const lines = totals.map(([project, total]) => `${name}{project="${escaped(project)}"} ${total[field]}`)
    return [...heading(name, 'gauge', `Of each project: ${field}.`), ...lines, '']
  })
}

function escaped(label: string): string {
  return label.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}
