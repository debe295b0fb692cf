/** The agents of a conversation: status, budget used, and links to their sessions and views. */
import { Failure } from '../../components/failure.tsx'
import { When } from '../../components/when.tsx'
import { useClient, useProject } from '../../connection/client.tsx'
import { useResource } from '../../connection/use-resource.ts'
import { counted, short } from '../../format.ts'
import { BudgetBar } from '../../request/budget-bar.tsx'
import { Link } from '../../router/router.tsx'
import { agentViewPlace, sessionPlace } from '../places.ts'
import { statusBadge } from '../session/status.ts'
import type { SessionHead } from '../session/types.ts'
import './agents-panel.css'
import type { PanelProps } from './panels.ts'

export function AgentsPanel({ conversationId, at }: PanelProps) {
  const client = useClient()
  const project = useProject()
  const { data, error, reload } = useResource(
    `sessions of ${conversationId} at ${at}`,
    async (signal): Promise<readonly SessionHead[]> => {
      if (at !== undefined) {
        const past = await client.conversations.at({ conversationId, version: at, query: { limit: 1 } }, { signal })
        return past.sessions
      }
      const query = { conversationId, status: 'active,archived,expired', limit: 100 }
      return (await client.sessions.list({ query }, { signal })).items
    },
    event => event.conversationId === conversationId,
  )
  return (
    <div className="agents">
      <h2>Agents</h2>
      {error !== undefined && !data && <Failure error={error} onRetry={reload} />}
      {data?.length === 0 && <p className="quiet">No agent has a session here.</p>}
      <ul>
        {data?.map(session => (
          <li key={session.id}>
            <h3>
              <Link to={sessionPlace(project, session.id, at)}>{session.agentName}</Link>{' '}
              <span className={statusBadge[session.status]}>{session.status}</span>
              {session.taskState !== undefined && <span className="badge">{session.taskState}</span>}
            </h3>
            <p className="quiet small">
              {session.checkpoint
                ? `checkpoint ${session.checkpoint.number} up to version ${session.checkpoint.upTo}`
                : 'no checkpoint'}{' '}
              · {session.acknowledged === undefined ? 'nothing acknowledged' : `has taken in ${session.acknowledged}`} ·{' '}
              <Link to={agentViewPlace(project, conversationId, session.agentName, at)}>what it sees</Link>
            </p>
            {at === undefined && session.status === 'active' && <Used session={session} />}
          </li>
        ))}
      </ul>
    </div>
  )
}

function Used({ session }: { session: SessionHead }) {
  const client = useClient()
  const { data } = useResource(
    `used by ${session.id}`,
    async signal => {
      const request = await client.sessions.preview({ sessionId: session.id, body: { message: '' } }, { signal })
      return { ...request.ledger, budget: request.budget, used: request.totalTokens }
    },
    event => event.conversationId === session.conversationId && event.type !== 'request.built',
  )
  return (
    <div className="agents__used" aria-busy={!data}>
      {data && (
        <>
          <p className="small">
            <b className="numbers">{short(data.used)}</b> of {counted(data.budget, 'token')} · updated{' '}
            <When at={session.updatedAt} />
          </p>
          <BudgetBar {...data} />
        </>
      )}
    </div>
  )
}
