/**
 * A shift on a feature: from the claim of its lease to its release, with everything that the work in between needs. A
 * shift ends by itself when somebody stops the feature, from whatever process.
 */
import type { WriteOptions } from '../engine.ts'
import type { RalphLimits } from '../events/ralph.ts'
import type { OnProgress } from '../work/progress.ts'
import { repositoryOf } from '../work/worktree.ts'
import { type FeaturePlace, featurePlace } from './feature-worktree.ts'
import type { Feature } from './features.ts'
import { harness } from './harness.ts'
import { type TaskRoom, taskRoom } from './task-room.ts'
import type { TeamOptions, TeamParts } from './team-parts.ts'
import { workLease } from './work-lease.ts'

export interface Shift {
  feature: Feature
  limits: RalphLimits
  write: WriteOptions
  signal: AbortSignal
  onProgress: OnProgress
  hears: Parameters<typeof taskRoom>[0]['hears']
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
  const { engine, scope, settings, root } = parts
  const { onProgress = () => undefined, model } = options
  const limits = { ...settings.limits, ...options.limits }
  await parts.work.getFeature(featureId)
  await repositoryOf(root)
  const stopping = new AbortController()
  const outer = options.signal ? [options.signal, stopping.signal] : [stopping.signal]
  const claim = (name: readonly string[], signals: AbortSignal[]) =>
    workLease(engine, scope, {
      name: JSON.stringify(name),
      leaseMs: settings.leaseMs,
      signal: AbortSignal.any(signals),
      onWaiting: until => onProgress({ type: 'waiting', name: name.slice(1).join(' '), until }),
    })
  const lease = await claim(teamLease(featureId), outer)
  const signal = AbortSignal.any([...outer, lease.signal])
  const answers = harness({
    agents: parts.agentsAs('harness'),
    approvals: options.approvals ?? settings.approvals,
    session: async () =>
      (await parts.sessions.getOrCreateSession({ type: 'feature', featureId, agentType: 'harness' })).id,
    model,
    signal,
    onAnswer: leave => onProgress({ type: 'leave', ...leave }),
  })
  let place: Promise<FeaturePlace> | undefined
  const write = { fence: lease.fence }
  const shift: Shift = {
    feature: await begun(parts, featureId, write),
    limits,
    write,
    signal,
    onProgress,
    hears: answers.hears,
    place: () =>
      (place ??= parts.work
        .getFeature(featureId)
        .then(feature => featurePlace(parts.work, feature, { root, settings, signal, write }))),
    async inRoom(taskId, work) {
      const { title, description, agent } = await parts.work.getTask(featureId, taskId)
      const own = await claim(['task', featureId, taskId], [signal])
      const { name, goal } = shift.feature
      const task = {
        ...{ featureId, taskId, title, feature: goal ? `${name}: ${goal}` : name },
        ...(description !== undefined && { description }),
        ...(agent !== undefined && { agent }),
      }
      const { sessions, agents } = parts
      try {
        const common = { engine, scope, sessions, agents, settings, model, onProgress, hears: answers.hears }
        const mine = { place: await shift.place(), task, write: { fence: own.fence } }
        return await work(taskRoom({ ...common, ...mine, signal: AbortSignal.any([signal, own.signal]) }, root))
      } finally {
        await own.release()
      }
    },
  }
  const watch = setInterval(() => {
    parts.work
      .stateOf({ type: 'feature', featureId })
      .then(({ work }) => work?.state === 'stopped' && stopping.abort())
      .catch(() => undefined)
  }, lookEveryMs).unref()
  try {
    return await work(shift)
  } finally {
    clearInterval(watch)
    await answers.settled()
    await lease.release()
  }
}

export function teamLease(featureId: string): readonly string[] {
  return ['team', featureId]
}

async function begun({ work }: TeamParts, featureId: string, write: WriteOptions): Promise<Feature> {
  const feature = await work.getFeature(featureId)
  return feature.state === 'in_progress' ? feature : work.moveFeature(featureId, 'in_progress', {}, write)
}
