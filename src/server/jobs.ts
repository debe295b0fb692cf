/** Work in the background: the maintenance sweep of every project, and the compactions that are under way. */
import type { z } from 'zod'
import type { Colloquy, Swept } from '../index.ts'
import type { Job } from './contract/operations.ts'
import type { Figures } from './figures.ts'

type JobState = z.input<typeof Job>

export interface Jobs {
  list(isVisible: (project: string) => boolean): JobState[]
  /** Runs the sweep of a project now, and notes how it went. */
  maintain(colloquy: Colloquy): Promise<Swept>
  close(): Promise<void>
}

export function jobs(parts: {
  colloquy: Colloquy
  everyMs: number | null
  figures: Figures
  onFailure: (error: unknown, project: string) => void
}): Jobs {
  const { colloquy, everyMs, figures, onFailure } = parts
  const sweeps = new Map<string, JobState>()
  const caretaker = colloquy.as({ actor: 'maintenance', channel: 'server' })
  let running: Promise<void> = Promise.resolve()
  let isClosed = false

  async function maintain(within: Colloquy): Promise<Swept> {
    const { project } = within
    const before = sweeps.get(project)
    const job: JobState = {
      name: 'maintenance',
      project,
      everyMs,
      isRunning: true,
      runs: (before?.runs ?? 0) + 1,
      lastStartedAt: new Date().toISOString(),
    }
    sweeps.set(project, job)
    try {
      const swept = await within.maintain()
      job.lastOutcome = { ...swept }
      return swept
    } catch (error) {
      job.lastError = error instanceof Error ? error.message : String(error)
      throw error
    } finally {
      job.isRunning = false
      job.lastEndedAt = new Date().toISOString()
    }
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
  const timer = everyMs === null ? undefined : setInterval(sweep, everyMs).unref()
  // What came due while nobody was here need not wait for the first sweep.
  if (everyMs !== null) sweep()

  return {
    list: isVisible => [
      ...[...sweeps.values()].filter(({ project }) => isVisible(project)),
      ...[...figures.compacting].flatMap(([sessionId, { project, since }]) =>
        isVisible(project) ? [compaction(sessionId, project, since)] : [],
      ),
    ],
    maintain,
    async close() {
      isClosed = true
      clearInterval(timer)
      await running
    },
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
  }
}
