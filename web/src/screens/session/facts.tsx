/** A session in figures. */

import type { ReactNode } from 'react'
import { When } from '../../components/when.tsx'
import { short, whole } from '../../format.ts'
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
            <b className="numbers">{whole(stats.messages)}</b> messages ·{' '}
            <b className="numbers">{short(stats.tokens)}</b> tokens
          </Fact>
          <Fact name="In all">
            <b className="numbers">{whole(stats.total.messages)}</b> messages ·{' '}
            <b className="numbers">{short(stats.total.tokens)}</b> tokens
          </Fact>
          <Fact name="Usage reported">
            <b className="numbers">{short(stats.total.tokensIn)}</b> in ·{' '}
            <b className="numbers">{short(stats.total.tokensOut)}</b> out
          </Fact>
        </>
      )}
      <Fact name="Checkpoint">
        {head.checkpoint ? (
          <>
            <b>{head.checkpoint.number}</b>, up to version {whole(head.checkpoint.upTo)} ·{' '}
            {short(isPast ? head.checkpoint.totalSaved : metrics.tokensSaved)} tokens saved
          </>
        ) : (
          'none yet'
        )}
      </Fact>
      <Fact name="Has taken in">
        {head.acknowledged === undefined ? 'nothing acknowledged' : <>up to version {whole(head.acknowledged)}</>}
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
