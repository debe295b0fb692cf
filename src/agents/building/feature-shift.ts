/**
 * A shift on a feature: from the claim of its lease to its release, with everything that the work in between needs. A
 * shift ends by itself when somebody stops the feature, from whatever process, and with the store.
 */

import { claimWork, leaseName } from '../../conversation/access/claim-lease.ts'
import type { KeptLease } from '../../conversation/access/renewed-lease.ts'
import type { Feature } from '../../conversation/work/item-views.ts'
import type { WriteOptions } from '../../log/engine.ts'
import type { RalphLimits } from '../../log/events/work/ralph.ts'
import type { TeamParts } from '../team-access.ts'
import { type FeaturePlace, featurePlace } from './feature-worktree.ts'
import { repositoryOf } from './git/worktree.ts'
import { type Harness, harness } from './harness.ts'
import type { OnProgress } from './progress.ts'
import { type TaskRoom, taskRoom } from './task-context.ts'
import type { TeamOptions } from './team-options.ts'

export interface Shift {
  feature: Feature
  limits: RalphLimits
  write: WriteOptions
  signal: AbortSignal
  onProgress: OnProgress
  hears: Harness['hears']
  /** Opened when it is first needed. */
  place(): Promise<FeaturePlace>
  /** Works on a task under its own lease. */
  inRoom<T>(taskId: string, work: (room: TaskRoom) => Promise<T>): Promise<T>
}

/** How often it is looked whether somebody stopped the feature. */
const lookEveryMs = 250

/**
 * @throws {NotFound} when there is no such feature
 * @throws {RepositoryMissing} when the project is not in a git repository with a commit
 * @throws {LeaseHeld} when somebody else works on it
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
  const asked = options.signal ? AbortSignal.any([options.signal, stopping.signal]) : stopping.signal
  return registered(parts, stopping, async () => {
    const lease = await claim(parts, teamLease(featureId), options, asked)
    const signal = AbortSignal.any([asked, lease.lost])
    const answers = answering(parts, featureId, options, signal)
    let watch: NodeJS.Timeout | undefined
    try {
      const feature = await begun(parts, featureId, { fence: lease.fence })
      options.onBegun?.()
      // From here on it is not stopped unless somebody says so.
      watch = setInterval(() => {
        parts.work
          .stateOf({ type: 'feature', featureId })
          .then(({ work }) => work?.state === 'stopped' && stopping.abort())
          .catch(() => undefined)
      }, lookEveryMs).unref()
      return await work(shiftOn(parts, feature, { options, lease, signal, hears: answers.hears }))
    } finally {
      clearInterval(watch)
      await answers.settled()
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
    hears,
  }: { options: TeamOptions; lease: KeptLease; signal: AbortSignal; hears: Harness['hears'] },
): Shift {
  const { engine, scope, sessions, agents, settings, root } = parts
  const { onProgress = () => undefined, model } = options
  const { featureId, name, goal } = feature
  const write = { fence: lease.fence }
  let place: Promise<FeaturePlace> | undefined

  async function opened(): Promise<FeaturePlace> {
    const now = await parts.work.getFeature(featureId)
    return featurePlace(parts.work, now, { root, settings, signal, write })
  }

  return {
    feature,
    limits: { ...settings.limits, ...options.limits },
    write,
    signal,
    onProgress,
    hears,
    place: () => (place ??= opened()),
    async inRoom(taskId, work) {
      const { title, description, agent } = await parts.work.getTask(featureId, taskId)
      const own = await claim(parts, leaseName('build', { type: 'task', featureId, taskId }), options, signal)
      try {
        const room = {
          ...{ engine, scope, sessions, agents, settings, model, onProgress, hears },
          place: await this.place(),
          task: {
            ...{ featureId, taskId, title, feature: goal ? `${name}: ${goal}` : name },
            ...(description !== undefined && { description }),
            ...(agent !== undefined && { agent }),
          },
          write: { fence: own.fence },
          signal: AbortSignal.any([signal, own.lost]),
        }
        return await work(taskRoom(room, root))
      } finally {
        await own.release()
      }
    },
  }
}

/** So that whoever closes the store can stop it, and wait for its end. */
async function registered<T>({ shifts }: TeamParts, stopping: AbortController, work: () => Promise<T>): Promise<T> {
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

function answering(
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

async function begun({ work }: TeamParts, featureId: string, write: WriteOptions): Promise<Feature> {
  const feature = await work.getFeature(featureId)
  return feature.state === 'in_progress' ? feature : work.moveFeature(featureId, 'in_progress', {}, write)
}
