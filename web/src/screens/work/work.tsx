/** The work of a project, live: features with their task graphs, and beads. */

import type { LiveEvent } from 'colloquy/client'
import { Failure } from '../../components/failure.tsx'
import { Tabs } from '../../components/tabs.tsx'
import { When } from '../../components/when.tsx'
import { useClient, useProject } from '../../connection/client.tsx'
import { useTitle } from '../../connection/questions.tsx'
import { useResource } from '../../connection/use-resource.ts'
import { counted } from '../../format.ts'
import { goWith, Link, useQuery } from '../../router/router.tsx'
import { conversationPlace } from '../places.ts'
import { Beads } from './beads.tsx'
import { FeatureGraph } from './feature-graph.tsx'
import { badgeOf, stateName } from './states.ts'
import type { FeatureSummary } from './types.ts'
import './work.css'

/** True for events that change work items. */
export function isOfWork({ type }: LiveEvent): boolean {
  return /^(feature|tasks?|work|bead|conversation)\./.test(type)
}

export function WorkScreen() {
  const tab = useQuery('show') === 'beads' ? 'beads' : 'features'
  useTitle('Work')
  return (
    <div className="page">
      <div className="page__inner work">
        <h1>Work</h1>
        <Tabs
          label="Work"
          tabs={[
            { name: 'features', label: 'Features' },
            { name: 'beads', label: 'Beads' },
          ]}
          chosen={tab}
          onChoose={name => goWith({ show: name === 'features' ? undefined : name }, { replace: true })}
        >
          {tab === 'features' ? <Features /> : <Beads />}
        </Tabs>
      </div>
    </div>
  )
}

function Features() {
  const client = useClient()
  const { data, error, reload } = useResource(
    'features',
    async signal => (await client.work.features({ query: { limit: 200 } }, { signal })).items,
    isOfWork,
  )
  const said = useQuery('feature')
  const chosen = data?.find(({ featureId }) => featureId === said) ?? data?.[0]
  if (error !== undefined && !data) return <Failure error={error} onRetry={reload} />
  if (data?.length === 0) {
    return (
      <p className="quiet">
        No features yet. <code>colloquy feature add</code> makes one, or an agent plans it.
      </p>
    )
  }
  return (
    <div className="work__features" aria-busy={!data}>
      <nav aria-label="Features">
        <ul className="work__list">
          {data?.map(feature => (
            <FeatureLine key={feature.featureId} feature={feature} isChosen={feature === chosen} />
          ))}
        </ul>
      </nav>
      {chosen && (
        <div className="work__feature">
          <FeatureHead feature={chosen} />
          <FeatureGraph key={chosen.featureId} feature={chosen} />
        </div>
      )}
    </div>
  )
}

function FeatureLine({ feature, isChosen }: { feature: FeatureSummary; isChosen: boolean }) {
  const { featureId, name, state, tasks, priority } = feature
  return (
    <li>
      <button
        type="button"
        className="work__line"
        aria-current={isChosen || undefined}
        onClick={() => goWith({ feature: featureId, task: undefined })}
      >
        <span className="cut work__name">{name}</span>
        <span className="quiet small">
          {counted(tasks, 'task')} · priority {priority}
        </span>
        <span className={badgeOf(state)}>{stateName(state)}</span>
      </button>
    </li>
  )
}

function FeatureHead({ feature }: { feature: FeatureSummary }) {
  const project = useProject()
  const { name, state, since, conversationId, baseBranch, result, worktree } = feature
  return (
    <header>
      <h2>
        {name} <span className={badgeOf(state)}>{stateName(state)}</span>
      </h2>
      <p className="quiet small">
        since <When at={since} /> · <Link to={conversationPlace(project, conversationId)}>conversation</Link>
        {baseBranch !== undefined && (
          <>
            {' '}
            · merges into <code>{baseBranch}</code>
          </>
        )}
        {worktree && (
          <>
            {' '}
            · work tree <code>{worktree.path}</code>
          </>
        )}
      </p>
      {result && <p className="small">{result.summary}</p>}
    </header>
  )
}
