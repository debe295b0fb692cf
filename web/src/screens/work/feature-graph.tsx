/** The task graph of a feature. The selected task is described next to it. */
import { useState } from 'react'
import { Failure } from '../../components/failure.tsx'
import { useClient, useProject } from '../../connection/client.tsx'
import { useResource } from '../../connection/use-resource.ts'
import { goWith, Link, useQuery } from '../../router/router.tsx'
import type { RunningRun } from '../conversation/use-conversation.ts'
import { conversationPlace } from '../places.ts'
import { FeatureActions } from './feature-actions.tsx'
import { GraphPicture } from './graph-picture.tsx'
import { badgeOf, stateName } from './states.ts'
import { TaskPanel } from './task-panel.tsx'
import type { FeatureSummary } from './types.ts'
import { isOfWork } from './work.tsx'

export function FeatureGraph({ feature }: { feature: FeatureSummary }) {
  const { featureId } = feature
  const client = useClient()
  const { data, error, reload } = useResource(
    `graph of ${featureId}`,
    signal => client.work.graph({ featureId }, { signal }),
    isOfWork,
  )
  const running = useResource(
    'runs',
    async signal => (await client.runs.list({}, { signal })).items.filter(({ isDead }) => !isDead),
    event => event.type.startsWith('run.'),
    200,
  )
  const [only, setOnly] = useState<string>()
  const chosen = useQuery('task')
  if (error !== undefined && !data) return <Failure error={error} onRetry={reload} />
  if (!data) return <div aria-busy="true" />
  const titles = new Map(data.tasks.map(one => [one.conversationId, one.title]))
  // Runs on the feature's conversation and on those of its tasks.
  const runs = (running.data ?? []).filter(
    ({ conversationId }) => conversationId === feature.conversationId || titles.has(conversationId),
  )
  const actions = <FeatureActions feature={feature} isQuiet={runs.length === 0} />
  if (data.tasks.length === 0) {
    return (
      <>
        <div className="work__standing">
          <AtWork runs={runs} titles={noTitles} />
          {actions}
        </div>
        <p className="quiet">No tasks are planned yet.</p>
      </>
    )
  }
  const states = new Map<string, number>()
  for (const { state } of data.tasks) states.set(state, (states.get(state) ?? 0) + 1)
  const task = data.tasks.find(({ taskId }) => taskId === chosen)
  return (
    <>
      <div className="work__standing">
        <fieldset className="group work__states" aria-label="Show tasks by state">
          {[...states].map(([state, count]) => (
            <button
              key={state}
              type="button"
              className={`${badgeOf(state)} work__state`}
              aria-pressed={only === state}
              onClick={() => setOnly(only === state ? undefined : state)}
            >
              {stateName(state)} <b className="numbers">{count}</b>
            </button>
          ))}
        </fieldset>
        <AtWork runs={runs} titles={titles} />
        {actions}
      </div>
      <p className="unseen">{data.summary}</p>
      <GraphPicture
        graph={data}
        only={only}
        chosen={chosen}
        onChoose={taskId => goWith({ task: taskId === chosen ? undefined : taskId }, { replace: true })}
      />
      {task && (
        <TaskPanel key={task.taskId} task={task} titles={new Map(data.tasks.map(one => [one.taskId, one.title]))} />
      )}
    </>
  )
}

const noTitles: ReadonlyMap<string | undefined, string> = new Map()

/** Agents at work, with links to watch them. */
function AtWork({ runs, titles }: { runs: readonly RunningRun[]; titles: ReadonlyMap<string | undefined, string> }) {
  const project = useProject()
  return (
    <p className="work__at-work small" aria-live="off">
      {runs.map(({ runId, agent, conversationId }) => (
        <Link key={runId} to={conversationPlace(project, conversationId)}>
          <span className="badge badge--accent">{agent}</span> is at work on{' '}
          {titles.get(conversationId) ?? 'the feature'}
        </Link>
      ))}
    </p>
  )
}
