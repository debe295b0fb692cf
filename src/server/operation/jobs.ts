/** Work in the background: the maintenance sweep of every project, compactions that are under way, the demo. */
import type { z } from 'zod'
import type { Swept } from '../../app/sweep.ts'
import { IllegalState } from '../../errors.ts'
import type { Colloquy } from '../../index.ts'
import { timerMs } from '../../timers.ts'
import type { Job } from '../contract/operations.ts'
import type { Metrics } from './metrics.ts'

type JobState = z.input<typeof Job>

export interface Jobs {
  list(isVisible: (project: string) => boolean): JobState[]
  /** Runs the sweep of a project now, and notes how it went. */
  maintain(colloquy: Colloquy): Promise<Swept>
  /**
   * Does something of a project's once, and notes how it went; what it gives is its outcome.
   *
   * @throws {IllegalState} while it is at it already
   */
  perform(name: string, project: string, work: () => Promise<Record<string, unknown>>): Promise<void>
  close(): Promise<void>
}

export function jobs(parts: {
  colloquy: Colloquy
  everyMs: number | null
  metrics: Metrics
  onFailure: (error: unknown, project: string) => void
}): Jobs {
  const { colloquy, everyMs, metrics, onFailure } = parts
  const sweeps = new Map<string, JobState>()
  const performed = new Map<string, JobState>()
  const caretaker = colloquy.as({ actor: 'maintenance', channel: 'server' })
  let running: Promise<void> = Promise.resolve()
  let isClosed = false

  async function maintain(within: Colloquy): Promise<Swept> {
    const { project } = within
    const job = started('maintenance', project, everyMs, sweeps.get(project))
    sweeps.set(project, job)
    return noting(job, () => within.maintain())
  }

  async function perform(name: string, project: string, work: () => Promise<Record<string, unknown>>): Promise<void> {
    const key = `${name} ${project}`
    const before = performed.get(key)
    if (before?.isRunning) {
      throw new IllegalState(`The ${name} of ${project} is under way already; it began at ${before.lastStartedAt}.`, {
        project,
      })
    }
    const job = started(name, project, null, before)
    performed.set(key, job)
    await noting(job, work)
  }

  async function sweepAll(): Promise<void> {
    for (const project of await colloquy.projects()) {
      if (isClosed) return
      const within = caretaker.as({ project })
      // A failed sweep deletes and loses nothing; the next one comes.
      await maintain(within).catch(error => onFailure(error, project))
    }
  }

  const sweep = () => {
    running = running.then(sweepAll).catch(error => onFailure(error, colloquy.project))
  }
  const timer = everyMs === null ? undefined : setInterval(sweep, timerMs(everyMs)).unref()
  // Work may have come due while no server ran, so the first sweep does not wait.
  if (everyMs !== null) sweep()

  return {
    list: isVisible => [
      ...[...sweeps.values(), ...performed.values()].filter(({ project }) => isVisible(project)),
      ...metrics
        .compacting()
        .flatMap(({ sessionId, project, since }) =>
          isVisible(project) ? [compaction(sessionId, project, since)] : [],
        ),
    ],
    maintain,
    perform,
    async close() {
      isClosed = true
      clearInterval(timer)
      await running
    },
  }
}

function started(name: string, project: string, everyMs: number | null, before: JobState | undefined): JobState {
  return {
    ...{ name, project, everyMs, isRunning: true },
    runs: (before?.runs ?? 0) + 1,
    lastStartedAt: new Date().toISOString(),
  }
}

async function noting<T extends object>(job: JobState, work: () => Promise<T>): Promise<T> {
  try {
    const outcome = await work()
    job.lastOutcome = { ...(outcome as Record<string, unknown>) }
    return outcome
  } catch (error) {
    job.lastError = error instanceof Error ? error.message : String(error)
    throw error
  } finally {
    job.isRunning = false
    job.lastEndedAt = new Date().toISOString()
  }
}

function compaction(sessionId: string, project: string, since: string): JobState {
  return {
    name: `compaction of session ${sessionId}`,
    project,
    everyMs: null,
    isRunning: true,
    runs: 1,
    lastStartedAt: since,
    sessionId,
  }
}
