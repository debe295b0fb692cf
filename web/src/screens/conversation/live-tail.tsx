/** The end of the timeline: answers being streamed, running agents, and interrupted runs that can be resumed. */
import { tellFailure } from '../../components/notices.tsx'
import { useClient, useLiveConnection } from '../../connection/client.tsx'
import { useStore } from '../../connection/store.ts'
import { firstWords } from '../../format.ts'
import { Markdown } from '../../markdown/markdown.tsx'
import { Author } from '../../message/author.tsx'
import './live-tail.css'
import type { RunningRun, SessionBrief } from './use-conversation.ts'

interface Props {
  conversationId: string
  runs: readonly RunningRun[]
  sessions: readonly SessionBrief[]
  /** Sessions being compacted. */
  compacting: readonly string[]
}

export function LiveTail({ conversationId, runs, sessions, compacting }: Props) {
  const answers = useStore(useLiveConnection().answers)
  const here = [...answers.values()].filter(answer => answer.conversationId === conversationId)
  const silent = runs.filter(run => !run.isDead && !here.some(({ runId }) => runId === run.runId))
  const broken = sessions.filter(
    ({ id, status, run }) =>
      status === 'active' &&
      (run?.outcome === 'failed' || run?.outcome === 'cancelled' || run?.outcome === 'crashed') &&
      !runs.some(one => one.sessionId === id),
  )
  return (
    <div className="live-tail" aria-live="off">
      {here.map(({ runId, agent, sessionId, text, reasoning, tools, waiting, hasGap }) => (
        <article
          key={runId}
          className="message live-tail__answer"
          aria-label={`${agent} is answering`}
          aria-busy="true"
        >
          <header className="message__head">
            <Author name={agent} />
            <span className="badge badge--accent">
              <span className="live-tail__pulse" aria-hidden="true" />
              {tools.find(tool => tool.isRunning) ? 'at work' : text === '' ? 'thinking' : 'answering'}
            </span>
            <span className="grow" />
            <StopButton sessionId={sessionId} agent={agent} />
          </header>
          <div className="message__body">
            {text === '' && reasoning !== '' && <p className="quiet small">{firstWords(reasoning.slice(-400), 240)}</p>}
            {text !== '' && <Markdown text={text} />}
            {tools.map(({ id, name, isRunning }) => (
              <p key={id} className="small quiet">
                <span className="badge badge--accent">tool</span> <b className="mono">{name}</b>{' '}
                {isRunning ? 'is running' : ''}
              </p>
            ))}
            {waiting !== undefined && <p className="small quiet">{waiting}</p>}
            {hasGap && <p className="small quiet">Some words were lost on the way; the log will have them.</p>}
          </div>
        </article>
      ))}
      {silent.map(({ runId, agent, sessionId, isHere }) => (
        <div key={runId} className="live-tail__line">
          <Author name={agent} />
          <span className="quiet small">
            is at work{isHere ? '' : ' in another process'}
            <span className="live-tail__dots" aria-hidden="true" />
          </span>
          <span className="grow" />
          {isHere && <StopButton sessionId={sessionId} agent={agent} />}
        </div>
      ))}
      {sessions
        .filter(({ id }) => compacting.includes(id))
        .map(({ id, agentName }) => (
          <div key={`compaction ${id}`} className="live-tail__line">
            <Author name={agentName} />
            <span className="badge badge--note">
              <span className="live-tail__pulse" aria-hidden="true" />
              compacting
            </span>
            <span className="quiet small">older messages become a checkpoint; new ones go on</span>
          </div>
        ))}
      {broken.map(session => (
        <BrokenRun key={session.id} session={session} />
      ))}
    </div>
  )
}

function StopButton({ sessionId, agent }: { sessionId: string; agent: string }) {
  const client = useClient()
  return (
    <button
      type="button"
      className="button button--small"
      aria-label={`Stop ${agent}`}
      onClick={() => client.runs.stop({ sessionId }).catch(tellFailure)}
    >
      ■ Stop
    </button>
  )
}

function BrokenRun({ session: { id: sessionId, agentName, run } }: { session: SessionBrief }) {
  const client = useClient()
  const word = { failed: 'failed', cancelled: 'was stopped', crashed: 'crashed' }[String(run?.outcome)]
  return (
    <div className="live-tail__line">
      <Author name={agentName} />
      <span className="quiet small">{word}; what it had said is kept</span>
      <span className="grow" />
      <button
        type="button"
        className="button button--small"
        onClick={() => client.runs.start({ sessionId, body: { retry: true, priority: 'person' } }).catch(tellFailure)}
      >
        ↻ Retry
      </button>
    </div>
  )
}
