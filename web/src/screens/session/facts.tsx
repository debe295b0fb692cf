/** A session in figures. */
import type { ReactNode } from 'react'
import { brief, count } from '../../components/figures.ts'
import { When } from '../../components/when.tsx'
import type { Session, SessionHead, SessionMetrics } from './types.ts'

export function SessionFacts({
  session,
  head,
  metrics,
  isPast,
}: {
  session: Session
  head: SessionHead
  metrics: SessionMetrics
  isPast: boolean
}) {
  const { stats } = session
  return (
    <dl className="facts">
      {!isPast && (
        <>
          <Fact name="In its window">
            <b className="numbers">{count(stats.messages)}</b> messages ·{' '}
            <b className="numbers">{brief(stats.tokens)}</b> tokens
          </Fact>
          <Fact name="In all">
            <b className="numbers">{count(stats.total.messages)}</b> messages ·{' '}
            <b className="numbers">{brief(stats.total.tokens)}</b> tokens
          </Fact>
          <Fact name="Usage reported">
            <b className="numbers">{brief(stats.total.tokensIn)}</b> in ·{' '}
            <b className="numbers">{brief(stats.total.tokensOut)}</b> out
          </Fact>
        </>
      )}
      <Fact name="Checkpoint">
        {head.checkpoint ? (
          <>
            <b>{head.checkpoint.number}</b>, up to version {count(head.checkpoint.upTo)} ·{' '}
            {brief(isPast ? head.checkpoint.totalSaved : metrics.tokensSaved)} tokens saved
          </>
        ) : (
          'none yet'
        )}
      </Fact>
      <Fact name="Has taken in">
        {head.acknowledged === undefined ? 'nothing acknowledged' : <>up to version {count(head.acknowledged)}</>}
      </Fact>
      {!isPast && (
        <>
          <Fact name="Last active">
            <When at={stats.lastActivityAt} />
          </Fact>
          <Fact name="Expires">
            {session.status !== 'active' ? (
              'no longer'
            ) : session.expiresAt === null ? (
              'never'
            ) : (
              <>
                <When at={session.expiresAt} /> if not used
              </>
            )}
          </Fact>
        </>
      )}
      <Fact name="Sharing">{head.sharing}</Fact>
    </dl>
  )
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}
