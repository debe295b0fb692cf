/** The exact next request with its budget and ledger; for a past version, the newest request sent by then. */

import type { Client } from 'colloquy/client'
import { useDeferredValue, useId, useState } from 'react'
import { Failure } from '../../components/failure.tsx'
import { useClient, useProject } from '../../connection/client.tsx'
import { useResource } from '../../connection/use-resource.ts'
import { whole } from '../../format.ts'
import { BudgetBar } from '../../request/budget-bar.tsx'
import { type Explained, RequestView } from '../../request/request-view.tsx'
import type { AgentRequest, Session, SessionMetrics } from './types.ts'

export function RequestPanel({
  session,
  at,
  version,
  metrics,
}: {
  session: Session
  at: number | undefined
  version: number
  metrics: SessionMetrics
}) {
  const client = useClient()
  const [text, setText] = useState('')
  const message = useDeferredValue(text)
  const field = useId()
  const { id: sessionId, conversationId } = session
  const { data, error, reload } = useResource(
    `request of ${sessionId} at ${at ?? `now ${version}`} ${at === undefined ? message : ''}`,
    async (signal): Promise<{ request: AgentRequest; sentAt?: number; isExact?: boolean } | null> => {
      if (at === undefined) {
        const asked = message === '' ? await unanswered(client, session, signal) : message
        const body = { message: asked, explain: true }
        return { request: await client.sessions.preview({ sessionId, body }, { signal }) }
      }
      const sent = await client.past.request(
        { conversationId, version: at, sessionId, query: { explain: true } },
        { signal },
      )
      return sent && { request: sent.request, sentAt: sent.version, isExact: sent.isExact }
    },
  )
  // The previous request stays visible while the next one loads, so that typing does not make the page jump.
  const [shown, setShown] = useState(data)
  if (data !== undefined && data !== shown) setShown(data)
  const newest = data ?? shown
  return (
    <div className="session__request">
      {at === undefined && (
        <label htmlFor={field} className="session__ask">
          <span>If the next message were</span>
          <input
            id={field}
            className="field"
            value={text}
            onChange={event => setText(event.target.value)}
            placeholder="the newest message it has not answered (nothing is sent or stored)"
            autoComplete="off"
          />
        </label>
      )}
      {error !== undefined && <Failure error={error} onRetry={reload} />}
      {newest === null && <p className="quiet">Nothing had been sent to this agent by then.</p>}
      {newest && (
        <>
          {newest.sentAt !== undefined && (
            <p className="quiet">
              Sent at version {newest.sentAt}, rendered again from its manifest
              {newest.isExact ? '.' : '; settings or content changed since, so it is not the same to the byte.'}
            </p>
          )}
          <BudgetPanel request={newest.request} metrics={at === undefined ? metrics : undefined} />
          <Shown session={session} request={newest.request} />
        </>
      )}
    </div>
  )
}

/** The default trigger: the newest message of another author that the session has not answered. */
async function unanswered(
  client: Client,
  { id: sessionId, agentName }: Session,
  signal: AbortSignal,
): Promise<'' | { messageId: string }> {
  const { items } = await client.sessions.messages({ sessionId, query: { kind: 'talk', limit: 1 } }, { signal })
  const newest = items.at(-1)
  return newest?.role === 'user' && newest.author !== agentName ? { messageId: newest.id } : ''
}

function BudgetPanel({ request, metrics }: { request: AgentRequest; metrics: SessionMetrics | undefined }) {
  const { ledger, totalTokens, budget, strategy } = request
  const model = ledger.model
  const trigger = metrics && strategy === 'checkpoint' ? triggerOf(metrics) : undefined
  return (
    <section className="panel" aria-label="Budget">
      <div className="session__budget">
        <p>
          <b className="numbers session__big">{whole(totalTokens)}</b> of{' '}
          <span className="numbers">{whole(budget)}</span> tokens{' '}
          <span className="quiet">({Math.round((totalTokens / budget) * 100)} %)</span>
        </p>
        {metrics && <Distance metrics={metrics} trigger={trigger} />}
      </div>
      <BudgetBar
        budget={budget}
        used={totalTokens}
        calibrated={ledger.calibrated}
        entries={ledger.entries}
        trigger={trigger}
      />
      <dl className="session__notes small quiet">
        <div>
          <dt>Counted by the provider</dt>
          <dd>
            {ledger.isMeasured ? (
              <>
                <span className="numbers">{whole(ledger.calibrated)}</span>, from what it counted last
              </>
            ) : (
              'unknown until the next response'
            )}
          </dd>
        </div>
        {model && (
          <div>
            <dt>Kept for the answer</dt>
            <dd>
              {whole(Math.max(0, model.contextWindow - budget))} of the window of {whole(model.contextWindow)}
              {model.name === undefined ? '' : ` of ${model.name}`}
            </dd>
          </div>
        )}
        {ledger.notes.map(note => (
          <div key={note}>
            <dt>Note</dt>
            <dd>{note}</dd>
          </div>
        ))}
      </dl>
    </section>
  )
}

/** The compaction trigger, computed from its distance to the tokens used now. */
function triggerOf({ used, calibrated, untilTrigger, level }: SessionMetrics): number | undefined {
  return level === 'compact' ? undefined : Math.max(used, calibrated) + untilTrigger
}

function Distance({ metrics, trigger }: { metrics: SessionMetrics; trigger: number | undefined }) {
  if (metrics.latched) {
    return (
      <p
        className="badge badge--warn"
        title="A compaction made no progress; older messages may be left out until one does"
      >
        compaction is latched
      </p>
    )
  }
  if (metrics.level === 'compact') return <p className="badge badge--bad">compaction is due</p>
  if (trigger === undefined) return null
  return (
    <p className={metrics.level === 'warn' ? 'badge badge--warn' : 'quiet'}>
      <span className="numbers">{whole(metrics.untilTrigger)}</span> tokens until compaction
    </p>
  )
}

function Shown({ session, request }: { session: Session; request: AgentRequest }) {
  const project = useProject()
  const { explained, ledger } = request
  if (!explained) return null
  return (
    <RequestView
      project={project}
      conversationId={session.conversationId}
      entries={ledger.entries}
      explained={explained as Explained}
    />
  )
}
