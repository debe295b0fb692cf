/** The session screen: status, next request with its ledger, checkpoint, actions. */
import { useRef, useState } from 'react'
import { Failure } from '../../components/failure.tsx'
import { Tabs } from '../../components/tabs.tsx'
import { useClient, useProject } from '../../connection/client.tsx'
import { useTitle } from '../../connection/questions.tsx'
import { useResource } from '../../connection/use-resource.ts'
import { useAt } from '../../router/at.ts'
import { goWith, Link, useQuery } from '../../router/router.tsx'
import type { ScreenProps } from '../../routes.tsx'
import { TimeBar } from '../conversation/time-bar.tsx'
import { useCompacting } from '../conversation/use-compacting.ts'
import { agentViewPlace, conversationPlace } from '../places.ts'
import { SessionActions } from './actions.tsx'
import { CheckpointPanel } from './checkpoint-panel.tsx'
import { SessionFacts } from './facts.tsx'
import { RequestPanel } from './request-panel.tsx'
import './session.css'
import { statusBadge } from './status.ts'

export function SessionScreen({ params }: ScreenProps) {
  const sessionId = params.session!
  const project = useProject()
  const client = useClient()
  const at = useAt()
  const tab = useQuery('tab') === 'checkpoint' ? 'checkpoint' : 'request'
  const conversationId = useRef<string>(undefined)
  const now = useResource(
    `session ${sessionId}`,
    async signal => {
      const session = await client.sessions.get({ sessionId }, { signal })
      conversationId.current = session.conversationId
      const [conversation, metrics] = await Promise.all([
        client.conversations.get({ conversationId: session.conversationId }, { signal }),
        client.sessions.metrics({ sessionId }, { signal }),
      ])
      return { session, conversation, metrics }
    },
    event => event.conversationId === conversationId.current,
  )
  const past = useResource(`past of ${sessionId} at ${at} ${now.data?.conversation.id}`, async signal => {
    if (at === undefined || !now.data) return undefined
    const conversationId = now.data.conversation.id
    const { sessions } = await client.conversations.at({ conversationId, version: at, query: { limit: 1 } }, { signal })
    return { at, head: sessions.find(({ id }) => id === sessionId) ?? null }
  })
  // While the slider moves, the previous state stays visible until the next one is loaded.
  const [shown, setShown] = useState(past.data)
  if (past.data !== undefined && past.data !== shown) setShown(past.data)
  const name = now.data?.session.agentName
  useTitle(name === undefined ? 'Session' : `${name}, session`)
  if (now.error !== undefined && !now.data) {
    return (
      <div className="page">
        <div className="page__inner">
          <Failure error={now.error} onRetry={now.reload} />
        </div>
      </div>
    )
  }
  if (!now.data) return <div className="page" aria-busy="true" />
  const { session, conversation, metrics } = now.data
  const then = at === undefined ? undefined : (past.data ?? shown)
  const head = then?.head ?? session
  return (
    <div className="page">
      {at !== undefined && <TimeBar conversationId={conversation.id} at={at} version={conversation.version} />}
      <div className="page__inner session">
        <header className="session__head">
          <div className="grow">
            <h1>
              {session.agentName} <span className={statusBadge[head.status]}>{head.status}</span>
              {at !== undefined && <span className="badge badge--note">as at version {at}</span>}
              {at === undefined && <Compacting conversationId={conversation.id} sessionId={sessionId} />}
            </h1>
            <p className="quiet">
              session of {session.agentType} on{' '}
              <Link to={conversationPlace(project, conversation.id, undefined, at)}>{conversation.title}</Link>
              {session.taskState !== undefined && <> in state {session.taskState}</>} ·{' '}
              <Link to={agentViewPlace(project, conversation.id, session.agentName, at)}>
                as it sees the conversation
              </Link>
            </p>
          </div>
          {at === undefined && <SessionActions session={session} onDone={now.reload} />}
        </header>
        {at !== undefined && then === undefined ? (
          past.error === undefined ? (
            <div aria-busy="true" />
          ) : (
            <Failure error={past.error} onRetry={past.reload} />
          )
        ) : then?.head === null ? (
          <p className="quiet">This session was not there at version {at}.</p>
        ) : (
          <>
            <SessionFacts session={session} head={head} metrics={metrics} isPast={at !== undefined} />
            <Tabs
              label="Session"
              tabs={[
                { name: 'request', label: at === undefined ? 'Next request' : 'Request' },
                {
                  name: 'checkpoint',
                  label: head.checkpoint ? `Checkpoint ${head.checkpoint.number}` : 'Checkpoint',
                },
              ]}
              chosen={tab}
              onChoose={name => goWith({ tab: name === 'request' ? undefined : name }, { replace: true })}
            >
              {tab === 'request' ? (
                <RequestPanel session={session} at={then?.at} version={conversation.version} metrics={metrics} />
              ) : (
                <CheckpointPanel
                  session={session}
                  upTo={at === undefined ? undefined : (head.checkpoint?.number ?? 0)}
                />
              )}
            </Tabs>
          </>
        )}
      </div>
    </div>
  )
}

function Compacting({ conversationId, sessionId }: { conversationId: string; sessionId: string }) {
  return useCompacting(conversationId).includes(sessionId) && <span className="badge badge--note">compacting</span>
}
