/** Has the project manager plan a feature into tasks, where nobody did yet. */

import type { Feature } from '../../conversation/work/item-views.ts'
import { fence } from '../../request/text/quote-untrusted.ts'
import type { LivePart } from '../runs/live-channel.ts'
import type { RunOptions } from '../runs/run-options.ts'
import type { TeamParts } from '../team-access.ts'
import type { OnProgress } from './progress.ts'

/** Gives why nothing came of it, if nothing did: the PM's own words, or what went wrong. */
export async function planFeature(
  { sessions, agents, work, root }: TeamParts,
  feature: Feature,
  {
    run,
    onProgress,
    hears,
  }: {
    run: Pick<RunOptions, 'model' | 'signal'>
    onProgress: OnProgress
    hears: (agent: string, part: LivePart) => void
  },
): Promise<string | undefined> {
  const { featureId, conversationId, attempts } = feature
  onProgress({ type: 'planning' })
  const session = await sessions.getOrCreateSession({ type: 'feature', featureId, agentType: 'pm' })
  await sessions.updateContext(session.id, { root })
  const result = await agents.run(session.id, {
    ...run,
    message: { role: 'user', content: planMessage(feature), author: 'harness' },
    // Cut off it goes on; after a run of the team that ended it is asked anew.
    once: `plan ${conversationId} ${attempts?.count ?? 0}`,
    onPart(part) {
      onProgress({ type: 'run', agent: session.agentName, part })
      hears(session.agentName, part)
    },
  })
  const { tasks } = await work.graph(featureId)
  if (tasks.length > 0) {
    onProgress({ type: 'planned', tasks })
    return undefined
  }
  const why = result.outcome === 'done' ? result.completed || result.text : (result.reason ?? result.outcome)
  return `nothing was planned: ${why || 'the PM said nothing'}`
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
