/**
 * A shift on a feature: the time between the claim of its lease and the release. A shift ends when any process stops the
 * feature, and when the store is closed.
 */

import { claimWork, leaseName } from '../../conversation/access/claim-lease.ts'
import type { KeptLease } from '../../conversation/access/renewed-lease.ts'
import type { Feature } from '../../conversation/work/item-views.ts'
import type { WriteOptions } from '../../log/engine.ts'
import type { RalphLimits } from '../../log/events/work/ralph.ts'
import type { TeamParts } from '../team-access.ts'
import { type FeatureWorktree, openFeatureWorktree } from './feature-worktree.ts'
import { repositoryOf } from './git/worktree.ts'
import { type Harness, harness } from './harness.ts'
import type { OnProgress } from './progress.ts'
import { type TaskContext, taskContext } from './task-context.ts'
import type { TeamOptions } from './team-options.ts'

export interface Shift {
  feature: Feature
  limits: RalphLimits
  write: WriteOptions
  signal: AbortSignal
  onProgress: OnProgress
  onRunPart: Harness['onRunPart']
  /** Opens the worktree at the first call. */
  worktree(): Promise<FeatureWorktree>
  /** Works on a task under its own lease. */
  onTask<T>(taskId: string, work: (context: TaskContext) => Promise<T>): Promise<T>
}

/** Interval of checks whether the feature was stopped. */
const stopCheckMs = 250

/**
 * @throws {NotFound} when there is no such feature
 * @throws {RepositoryMissing} when the project is not in a git repository with a commit
 * @throws {LeaseHeld} when another process works on the feature
 */
export async function withShift<T>(
  parts: TeamParts,
  featureId: string,
  options: TeamOptions,
  work: (shift: Shift) => Promise<T>,
): Promise<T> {
  await parts.work.getFeature(featureId)
  await repositoryOf(parts.root)
  const stopping = new AbortController()
  const stopSignal = options.signal ? AbortSignal.any([options.signal, stopping.signal]) : stopping.signal
  return asRunningShift(parts, stopping, async () => {
    const lease = await claim(parts, teamLease(featureId), options, stopSignal)
    const signal = AbortSignal.any([stopSignal, lease.lost])
    const approvals = approvalHarness(parts, featureId, options, signal)
    let watch: NodeJS.Timeout | undefined
    try {
      const feature = await startFeature(parts, featureId, { fence: lease.fence })
      options.onBegun?.()
      // The feature is in progress now, so a later state `stopped` ends this shift.
      watch = setInterval(() => {
        parts.work
          .stateOf({ type: 'feature', featureId })
          .then(({ work }) => work?.state === 'stopped' && stopping.abort())
          .catch(() => undefined)
      }, stopCheckMs).unref()
      return await work(shiftOn(parts, feature, { options, lease, signal, onRunPart: approvals.onRunPart }))
    } finally {
      clearInterval(watch)
      await approvals.settled()
      await lease.release()
    }
  })
}

export function teamLease(featureId: string): string {
  return leaseName('team', { type: 'feature', featureId })
}

function shiftOn(
  parts: TeamParts,
  feature: Feature,
  {
    options,
    lease,
    signal,
    onRunPart,
  }: { options: TeamOptions; lease: KeptLease; signal: AbortSignal; onRunPart: Harness['onRunPart'] },
): Shift {
  const { engine, scope, sessions, agents, settings, root } = parts
  const { onProgress = () => undefined, model } = options
  const { featureId, name, goal } = feature
  const write = { fence: lease.fence }
  let worktree: Promise<FeatureWorktree> | undefined

  async function openWorktree(): Promise<FeatureWorktree> {
    const current = await parts.work.getFeature(featureId)
    return openFeatureWorktree(parts.work, current, { root, settings, signal, write })
  }

  return {
    feature,
    limits: { ...settings.limits, ...options.limits },
    write,
    signal,
    onProgress,
    onRunPart,
    worktree: () => (worktree ??= openWorktree()),
    async onTask(taskId, work) {
      const { title, description, agent } = await parts.work.getTask(featureId, taskId)
      const taskLease = await claim(parts, leaseName('build', { type: 'task', featureId, taskId }), options, signal)
      try {
        const context = {
          ...{ engine, scope, sessions, agents, settings, model, onProgress, onRunPart },
          worktree: await this.worktree(),
          task: {
            ...{ featureId, taskId, title, feature: goal ? `${name}: ${goal}` : name },
            ...(description !== undefined && { description }),
            ...(agent !== undefined && { agent }),
          },
          write: { fence: taskLease.fence },
          signal: AbortSignal.any([signal, taskLease.lost]),
        }
        return await work(taskContext(context, root))
      } finally {
        await taskLease.release()
      }
    },
  }
}

/** Registers the shift, so that closing the store stops it and waits for its end. */
async function asRunningShift<T>({ shifts }: TeamParts, stopping: AbortController, work: () => Promise<T>): Promise<T> {
  const ended = work()
  const running = {
    async stop() {
      stopping.abort()
      await ended.catch(() => undefined)
    },
  }
  shifts.add(running)
  try {
    return await ended
  } finally {
    shifts.delete(running)
  }
}

function claim(parts: TeamParts, name: string, { onProgress }: TeamOptions, signal: AbortSignal): Promise<KeptLease> {
  const { leaseMs } = parts.settings
  return claimWork(parts.engine, parts.scope, {
    ...{ name, leaseMs, signal },
    onWaiting: until => onProgress?.({ type: 'waiting', name, until }),
  })
}

function approvalHarness(
  { sessions, agentsAs, settings }: TeamParts,
  featureId: string,
  { onProgress, approvals = settings.approvals, model }: TeamOptions,
  signal: AbortSignal,
): Harness {
  return harness({
    ...{ agents: agentsAs('harness'), approvals, model, signal },
    session: async () => (await sessions.getOrCreateSession({ type: 'feature', featureId, agentType: 'harness' })).id,
    onAnswer: approval => onProgress?.({ type: 'approval', ...approval }),
  })
}

async function startFeature({ work }: TeamParts, featureId: string, write: WriteOptions): Promise<Feature> {
  const feature = await work.getFeature(featureId)
  return feature.state === 'in_progress' ? feature : work.moveFeature(featureId, 'in_progress', {}, write)
}
