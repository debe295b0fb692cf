/** The task graph of one feature, drawn; what is chosen in it is told beside it. */
import { useState } from 'react'
import { Failure } from '../../components/failure.tsx'
import { useClient } from '../../connection/client.tsx'
import { useResource } from '../../connection/use-resource.ts'
import { goWith, useQuery } from '../../router/router.tsx'
import { GraphPicture } from './graph-picture.tsx'
import { badgeOf, stateName } from './states.ts'
import { TaskPanel } from './task-panel.tsx'
import { isOfWork } from './work.tsx'

export function FeatureGraph({ featureId }: { featureId: string }) {
  const client = useClient()
  const { data, error, reload } = useResource(
    `graph of ${featureId}`,
    signal => client.work.graph({ featureId }, { signal }),
    isOfWork,
  )
  const [only, setOnly] = useState<string>()
  const chosen = useQuery('task')
  if (error !== undefined && !data) return <Failure error={error} onRetry={reload} />
  if (!data) return <div aria-busy="true" />
  if (data.tasks.length === 0) return <p className="quiet">No tasks are planned yet.</p>
  const states = new Map<string, number>()
  for (const { state } of data.tasks) states.set(state, (states.get(state) ?? 0) + 1)
  const task = data.tasks.find(({ taskId }) => taskId === chosen)
  return (
    <>
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
