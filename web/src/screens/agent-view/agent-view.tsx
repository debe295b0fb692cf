/** A conversation as one agent will see it: what it missed, what was left out, and the request's full text. */

import { useId, useState } from 'react'
import { Failure } from '../../components/failure.tsx'
import { useClient, useProject } from '../../connection/client.tsx'
import { useTitle } from '../../connection/questions.tsx'
import { useResource } from '../../connection/use-resource.ts'
import { counted, whole } from '../../format.ts'
import { BudgetBar } from '../../request/budget-bar.tsx'
import { type Explained, RequestView } from '../../request/request-view.tsx'
import { useAt } from '../../router/at.ts'
import { goWith, Link, useQuery } from '../../router/router.tsx'
import type { ScreenProps } from '../../routes.tsx'
import { TimeBar } from '../conversation/time-bar.tsx'
import { conversationPlace, sessionPlace } from '../places.ts'
import './agent-view.css'

export function AgentViewScreen({ params }: ScreenProps) {
  const conversationId = params.conversation!
  const client = useClient()
  const project = useProject()
  const at = useAt()
  const { data, error, reload } = useResource(
    `agents of ${conversationId}`,
    async signal => {
      const [conversation, sessions] = await Promise.all([
        client.conversations.get({ conversationId }, { signal }),
        client.sessions.list({ query: { conversationId, status: 'active,archived,expired', limit: 100 } }, { signal }),
      ])
      return { conversation, agents: [...new Set(sessions.items.map(({ agentName }) => agentName))].sort() }
    },
    event => event.conversationId === conversationId,
  )
  const said = useQuery('agent')
  const agent = said ?? data?.agents[0]
  const title = data?.conversation.title
  useTitle(title === undefined ? 'Agents' : `${agent ?? 'Agents'}, ${title}`)
  return (
    <div className="page">
      {at !== undefined && data && (
        <TimeBar conversationId={conversationId} at={at} version={data.conversation.version} />
      )}
      <div className="page__inner agent-view">
        <header>
          <h1>As an agent sees it</h1>
          <p className="quiet">
            {data && (
              <Link to={conversationPlace(project, conversationId, undefined, at)}>{data.conversation.title}</Link>
            )}
            {at !== undefined && <span className="badge badge--note">as at version {at}</span>}
          </p>
        </header>
        {error !== undefined && !data && <Failure error={error} onRetry={reload} />}
        {data && (
          <>
            <Agents agents={data.agents} chosen={agent} />
            {agent === undefined ? (
              <p className="quiet">No agent has a session here yet. Name one to see what it would be sent.</p>
            ) : (
              <View
                key={agent}
                conversationId={conversationId}
                agent={agent}
                at={at}
                version={data.conversation.version}
              />
            )}
          </>
        )}
      </div>
    </div>
  )
}

function Agents({ agents, chosen }: { agents: readonly string[]; chosen: string | undefined }) {
  const [other, setOther] = useState('')
  const field = useId()
  const choose = (agent: string) => goWith({ agent }, { replace: true })
  return (
    <div className="row">
      <fieldset className="group agent-view__agents">
        <legend className="unseen">Agent</legend>
        {agents.map(name => (
          <button
            key={name}
            type="button"
            className="button button--small"
            aria-pressed={name === chosen}
            onClick={() => choose(name)}
          >
            {name}
          </button>
        ))}
      </fieldset>
      <form
        className="row"
        onSubmit={event => {
          event.preventDefault()
          if (other.trim() !== '') choose(other.trim())
        }}
      >
        <label htmlFor={field} className="quiet">
          another
        </label>
        <input
          id={field}
          className="field agent-view__other"
          value={other}
          onChange={event => setOther(event.target.value)}
          autoComplete="off"
        />
        <button type="submit" className="button button--small">
          Look
        </button>
      </form>
    </div>
  )
}

function View({
  conversationId,
  agent,
  at,
  version,
}: {
  conversationId: string
  agent: string
  at: number | undefined
  version: number
}) {
  const client = useClient()
  const project = useProject()
  const { data, error, reload } = useResource(`view of ${agent} at ${at ?? `now ${version}`}`, signal => {
    const body = { agent, trigger: '', explain: true }
    return at === undefined
      ? client.teams.previewView({ conversationId, body }, { signal })
      : client.past.view({ conversationId, version: at, body }, { signal })
  })
  // The previous view stays visible while the next one loads, so that live updates do not make it jump.
  const [shown, setShown] = useState(data)
  if (data !== undefined && data !== shown) setShown(data)
  const view = data ?? shown
  if (error !== undefined) return <Failure error={error} onRetry={reload} />
  if (!view) return <div aria-busy="true" />
  const { catchUp, omitted, checkpoint, totalTokens, budget, ledger, sessionId, upTo } = view
  return (
    <>
      <ul className="agent-view__summary">
        <li>
          {catchUp === undefined ? (
            <>It has acknowledged nothing yet: to it, all is history.</>
          ) : catchUp.messages + catchUp.omitted === 0 ? (
            <>It is up to date: nothing new since version {whole(catchUp.since)}.</>
          ) : (
            <>
              <b>{counted(catchUp.messages, 'message')}</b> came while it was away, since version {whole(catchUp.since)}
              {catchUp.omitted > 0 && (
                <>; {counted(catchUp.omitted, 'earlier one')} more left out of that block, and it is told</>
              )}
              .
            </>
          )}
        </li>
        <li>
          {omitted === 0 ? (
            'Nothing is left out.'
          ) : (
            <>
              <b>{counted(omitted, 'older message')}</b> left out to stay inside the budget, and it is told so.
            </>
          )}{' '}
          {checkpoint !== undefined && <>Checkpoint {checkpoint} stands for what came before.</>}
        </li>
        <li>
          Once it has taken this in, it acknowledges version {whole(upTo)}.{' '}
          {sessionId === undefined ? (
            'It has no session here yet; one is made when it is first asked.'
          ) : (
            <Link to={sessionPlace(project, sessionId)}>Its session</Link>
          )}
        </li>
      </ul>
      <section className="panel" aria-label="Budget">
        <p>
          <b className="numbers">{whole(totalTokens)}</b> of <span className="numbers">{whole(budget)}</span> tokens
        </p>
        <BudgetBar budget={budget} used={totalTokens} calibrated={ledger.calibrated} entries={ledger.entries} />
      </section>
      {view.explained && (
        <RequestView
          project={project}
          conversationId={conversationId}
          entries={ledger.entries}
          explained={view.explained as Explained}
        />
      )}
    </>
  )
}
