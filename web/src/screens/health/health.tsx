/** Health of the server: throughput, latency, compactions, expirations, background jobs. */

import type { ReactNode } from 'react'
import { Failure } from '../../components/failure.tsx'
import { When } from '../../components/when.tsx'
import { useTitle } from '../../connection/questions.tsx'
import { duration, short, whole } from '../../format.ts'
import { Chart } from './chart.tsx'
import './health.css'
import { byLabel, quantile, rate, type Sample, total } from './metrics.ts'
import { Nodes } from './nodes.tsx'
import { type Job, useSamples } from './use-samples.ts'

export function HealthScreen() {
  const { samples, error } = useSamples()
  const newest = samples.at(-1)
  useTitle('Health')
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: there is nothing else to focus, and it has to be scrolled
    <section className="page" aria-label="Health" tabIndex={0}>
      <div className="page__inner health">
        <h1>Health</h1>
        {error !== undefined && <Failure error={error} />}
        <div className="health__tiles" aria-busy={!newest}>
          {tiles.map(tile => (
            <Tile key={tile.title} {...tile} samples={samples} />
          ))}
        </div>
        {newest && <Nodes samples={samples} />}
        <div className="health__lists">
          <Jobs jobs={newest?.jobs} />
          {newest && <Happened sample={newest} />}
          {newest && <Projects sample={newest} />}
        </div>
      </div>
    </section>
  )
}

interface Measure {
  title: string
  hint: string
  /** The charted value of two consecutive samples. */
  line(before: Sample, after: Sample): number | undefined
  /** The displayed figure, from the newest sample. */
  figure(newest: Sample, before: Sample | undefined): ReactNode
  detail(newest: Sample): ReactNode
}

const tiles: readonly Measure[] = [
  latency('Appends', 'append', 'How long a message takes to be durable, over HTTP'),
  latency('Requests to agents', 'request', 'How long putting a request together takes'),
  {
    title: 'Subscribers',
    hint: 'Live streams that are open, this page among them',
    line: (_, after) => total(after, 'colloquy_subscribers'),
    figure: newest => whole(total(newest, 'colloquy_subscribers')),
    detail: newest => `${whole(total(newest, 'colloquy_subscribers_dropped_total'))} dropped because nobody read`,
  },
  {
    title: 'Events',
    hint: 'Recorded since the server started',
    line: (before, after) => rate(before, after, 'colloquy_events_total'),
    figure: (newest, before) => {
      const now = before && rate(before, newest, 'colloquy_events_total')
      return now === undefined ? '–' : `${now < 10 ? now.toFixed(1) : whole(now)} /s`
    },
    detail: newest => `${short(total(newest, 'colloquy_events_total'))} since the start`,
  },
  {
    title: 'Calls',
    hint: 'Answered over HTTP, and how many of them failed',
    line: (before, after) => rate(before, after, 'colloquy_http_requests_total'),
    figure: (newest, before) => {
      const now = before && rate(before, newest, 'colloquy_http_requests_total')
      return now === undefined ? '–' : `${now < 10 ? now.toFixed(1) : whole(now)} /s`
    },
    detail: newest =>
      `${whole(total(newest, 'colloquy_http_requests_total', 'status="5'))} failed on the server's side`,
  },
  {
    title: 'Compactions',
    hint: 'Under way now, and done since the server started',
    line: (_, after) => total(after, 'colloquy_compactions_running'),
    figure: newest => whole(total(newest, 'colloquy_compactions_running')),
    detail: newest => {
      const [done, failed] = ['checkpoint.taken', 'compaction.failed'].map(type => happened(newest, type))
      return `${whole(done!)} done, ${whole(failed!)} failed`
    },
  },
  {
    title: 'Expirations',
    hint: 'Sessions that were not used for long; nothing is deleted',
    line: (_, after) => happened(after, 'session.expired'),
    figure: newest => whole(happened(newest, 'session.expired')),
    detail: () => 'since the start',
  },
]

function happened(sample: Sample, type: string): number {
  return total(sample, 'colloquy_events_total', `type="${type}"`)
}

function latency(title: string, kind: 'append' | 'request', hint: string): Measure {
  const name = `colloquy_${kind}_seconds`
  const shown = (value: number | undefined) =>
    value === undefined ? '–' : value === Number.POSITIVE_INFINITY ? '> 10 s' : `≤ ${duration(value)}`
  return {
    title,
    hint,
    line: (before, after) => quantile(name, 0.95, after, before),
    figure: newest => shown(quantile(name, 0.5, newest)),
    detail: newest => `95 % ${shown(quantile(name, 0.95, newest))} of ${short(total(newest, `${name}_count`))}`,
  }
}

function Tile({ title, hint, line, figure, detail, samples }: Measure & { samples: readonly Sample[] }) {
  const newest = samples.at(-1)
  const values = samples.slice(1).map((sample, index) => line(samples[index]!, sample))
  return (
    <section className="health__tile" aria-label={title} title={hint}>
      <h2>{title}</h2>
      <p className="health__figure numbers">{newest ? figure(newest, samples.at(-2)) : '–'}</p>
      <p className="quiet small numbers">{newest ? detail(newest) : ' '}</p>
      <Chart label={`${title} in the last minutes`} values={values} />
    </section>
  )
}

function Jobs({ jobs }: { jobs: readonly Job[] | undefined }) {
  return (
    <section aria-label="Jobs">
      <h2>Jobs</h2>
      {jobs?.length === 0 && <p className="quiet">Nothing has run yet.</p>}
      <ul className="health__rows">
        {jobs?.map(job => (
          <li key={`${job.name} ${job.project}`}>
            <span className="grow">
              {job.name} <span className="quiet">of {job.project}</span>
              {job.lastError !== undefined && <span className="health__error">{job.lastError}</span>}
            </span>
            {job.isRunning ? (
              <span className="badge badge--accent">running</span>
            ) : job.lastError === undefined ? (
              <span className="badge badge--good">ok</span>
            ) : (
              <span className="badge badge--bad">failed</span>
            )}
            <span className="quiet small">
              {job.lastEndedAt !== undefined && <When at={job.lastEndedAt} />}
              {job.everyMs !== null && <> · every {duration(job.everyMs)}</>}
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}

/** The most frequent events since the server started. */
function Happened({ sample }: { sample: Sample }) {
  const rows = [...byLabel(sample, 'colloquy_events_total', 'type')].sort((a, b) => b[1] - a[1]).slice(0, 8)
  return (
    <section aria-label="Events by type">
      <h2>Events by type</h2>
      {rows.length === 0 && <p className="quiet">None since the server started.</p>}
      <ul className="health__rows">
        {rows.map(([type, value]) => (
          <li key={type}>
            <code className="grow">{type}</code>
            <span className="numbers">{whole(value)}</span>
          </li>
        ))}
      </ul>
    </section>
  )
}

function Projects({ sample }: { sample: Sample }) {
  const names = byLabel(sample, 'colloquy_project_messages', 'project')
  const of = (field: string, project: string) =>
    byLabel(sample, `colloquy_project_${field}`, 'project').get(project) ?? 0
  return (
    <section aria-label="Projects">
      <h2>Projects</h2>
      <ul className="health__rows">
        {[...names].map(([project, messages]) => (
          <li key={project}>
            <span className="grow cut">{project}</span>
            <span className="quiet small numbers">
              {short(of('conversations', project))} conversations · {short(messages)} messages ·{' '}
              {short(of('tokens', project))} tokens
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}
