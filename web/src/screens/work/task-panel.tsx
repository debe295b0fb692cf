/** One task: description, state with its reason, and the agents that worked on it. */

import { Failure } from '../../components/failure.tsx'
import { When } from '../../components/when.tsx'
import { useClient, useProject } from '../../connection/client.tsx'
import { useResource } from '../../connection/use-resource.ts'
import { counted } from '../../format.ts'
import { goWith, Link } from '../../router/router.tsx'
import { conversationPlace, sessionPlace } from '../places.ts'
import { badgeOf, stateName } from './states.ts'
import type { TaskNode } from './types.ts'
import { isOfWork } from './work.tsx'

export function TaskPanel({ task: node, titles }: { task: TaskNode; titles: ReadonlyMap<string, string> }) {
  const client = useClient()
  const project = useProject()
  const { featureId, taskId } = node
  const { data, error, reload } = useResource(
    `task ${featureId} ${taskId}`,
    signal => client.work.task({ featureId, taskId }, { signal }),
    isOfWork,
  )
  const { title, state, since, heldIn, agent, priority, dependencies, dependents, move, attempts, result, worktree } =
    node
  return (
    <section className="panel work__task" aria-label={title}>
      <header className="row">
        <h3 className="grow">
          {title} <span className={badgeOf(state)}>{stateName(state)}</span>
        </h3>
        {node.conversationId !== undefined && (
          <Link className="button button--small" to={conversationPlace(project, node.conversationId)}>
            Open conversation
          </Link>
        )}
        <button
          type="button"
          className="button button--quiet button--small"
          aria-label="Close"
          onClick={() => goWith({ task: undefined }, { replace: true })}
        >
          ×
        </button>
      </header>
      {error !== undefined && <Failure error={error} onRetry={reload} />}
      {data?.description !== undefined && <p className="work__text">{data.description}</p>}
      <dl className="work__facts small">
        <div>
          <dt>Task</dt>
          <dd>
            <code>{taskId}</code> · priority {priority}
            {agent !== undefined && <> · for {agent}</>}
            {since !== undefined && (
              <>
                {' '}
                · since <When at={since} />
              </>
            )}
          </dd>
        </div>
        {heldIn !== undefined && (
          <div>
            <dt>Held in</dt>
            <dd>{stateName(heldIn)}</dd>
          </div>
        )}
        {move?.reason !== undefined && (
          <div>
            <dt>Why it moved</dt>
            <dd>{move.reason}</dd>
          </div>
        )}
        <Others name="Waits for" ids={dependencies} waitsFor={node.waitsFor} titles={titles} />
        <Others name="Needed by" ids={dependents} titles={titles} />
        {attempts && (
          <div>
            <dt>Attempts</dt>
            <dd>
              {counted(attempts.count, 'attempt')}, {attempts.failed} failed in a row; the last {attempts.last.outcome}
              {attempts.last.reason !== undefined && <>: {attempts.last.reason}</>}
            </dd>
          </div>
        )}
        {result && (
          <div>
            <dt>Result</dt>
            <dd>{result.summary}</dd>
          </div>
        )}
        {worktree && (
          <div>
            <dt>Work tree</dt>
            <dd>
              <code>{worktree.path}</code> on <code>{worktree.branch}</code>
            </dd>
          </div>
        )}
        {data && data.sessions.length > 0 && (
          <div>
            <dt>Sessions</dt>
            <dd>
              {data.sessions.map(({ id, agentName, taskState, status }, index) => (
                <span key={id}>
                  {index > 0 && ', '}
                  <Link to={sessionPlace(project, id)}>
                    {agentName}
                    {taskState !== undefined && ` (${stateName(taskState)})`}
                  </Link>
                  {status !== 'active' && <span className="quiet"> ({status})</span>}
                </span>
              ))}
            </dd>
          </div>
        )}
      </dl>
    </section>
  )
}

function Others({
  name,
  ids,
  waitsFor,
  titles,
}: {
  name: string
  ids: readonly string[]
  waitsFor?: readonly string[]
  titles: ReadonlyMap<string, string>
}) {
  if (ids.length === 0) return null
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        {ids.map((id, index) => (
          <span key={id}>
            {index > 0 && ', '}
            <button type="button" className="work__jump" onClick={() => goWith({ task: id }, { replace: true })}>
              {titles.get(id) ?? id}
            </button>
            {waitsFor && !waitsFor.includes(id) && <span className="quiet"> (merged)</span>}
          </span>
        ))}
      </dd>
    </div>
  )
}
