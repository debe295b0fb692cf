/** Has the project manager plan a feature without tasks. */

import type { Feature } from '../../conversation/work/item-views.ts'
import { fence } from '../../request/text/quote-untrusted.ts'
import type { LivePart } from '../runs/live-channel.ts'
import type { RunOptions } from '../runs/run-options.ts'
import type { TeamParts } from '../team-access.ts'
import type { OnProgress } from './progress.ts'

/** Returns the reason if no task was planned: the PM's answer, or the failure of its run. */
export async function planFeature(
  { sessions, agents, work, root }: TeamParts,
  feature: Feature,
  {
    run,
    onProgress,
    onRunPart,
  }: {
    run: Pick<RunOptions, 'model' | 'signal'>
    onProgress: OnProgress
    onRunPart: (agent: string, part: LivePart) => void
  },
): Promise<string | undefined> {
  const { featureId, conversationId, attempts } = feature
  onProgress({ type: 'planning' })
  const session = await sessions.getOrCreateSession({ type: 'feature', featureId, agentType: 'pm' })
  await sessions.updateContext(session.id, { root })
  const result = await agents.run(session.id, {
    ...run,
    message: { role: 'user', content: planMessage(feature), author: 'harness' },
    // A crashed run is resumed. After a run of the team has ended, the PM gets a new run.
    once: `plan ${conversationId} ${attempts?.count ?? 0}`,
    onPart(part) {
      onProgress({ type: 'run', agent: session.agentName, part })
      onRunPart(session.agentName, part)
    },
  })
  const { tasks } = await work.graph(featureId)
  if (tasks.length > 0) {
    onProgress({ type: 'planned', tasks })
    return undefined
  }
  const reason = result.outcome === 'done' ? result.completed || result.text : (result.reason ?? result.outcome)
  return `nothing was planned: ${reason || 'the PM said nothing'}`
}

function planMessage({ featureId, name, goal, spec }: Feature): string {
  return [
    `Plan the feature ${featureId}: ${name}`,
    goal && fence(goal, `goal ${featureId}`, 'the goal'),
    spec && fence(spec, `spec ${featureId}`, 'the specification'),
    'Write its tasks and their dependencies with plan_tasks, all in one call. They are built one by one from it, without further questions to you.',
  ]
    .filter(Boolean)
    .join('\n\n')
}
