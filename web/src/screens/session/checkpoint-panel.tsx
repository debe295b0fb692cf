/** A session's checkpoint: its sections, the changes since the previous one, and the sources of each item. */

import { useState } from 'react'
import { Failure } from '../../components/failure.tsx'
import { useClient, useProject } from '../../connection/client.tsx'
import { useResource } from '../../connection/use-resource.ts'
import { counted, short, whole } from '../../format.ts'
import { Link } from '../../router/router.tsx'
import { conversationPlace } from '../places.ts'
import { changesOf, sectionTitles } from './checkpoint-changes.ts'
import './checkpoint-panel.css'
import type { Checkpoint, CheckpointItem, Session } from './types.ts'

/** @param upTo shows the newest checkpoint at that version */
export function CheckpointPanel({ session, upTo }: { session: Session; upTo: number | undefined }) {
  const client = useClient()
  const { id: sessionId, checkpoint } = session
  const { data, error, reload } = useResource(`checkpoints of ${sessionId} ${checkpoint?.number}`, async signal => {
    const { items } = await client.sessions.checkpoints({ sessionId }, { signal })
    return items
  })
  const [chosen, setChosen] = useState<number>()
  const [against, setAgainst] = useState<number>()
  if (error !== undefined && !data) return <Failure error={error} onRetry={reload} />
  if (!data) return <div aria-busy="true" />
  const known = data.filter(({ number }) => upTo === undefined || number <= upTo)
  const shown = known.find(({ number }) => number === chosen) ?? known[0]
  if (!shown) {
    return (
      <p className="quiet">
        No checkpoint {upTo === undefined ? 'yet' : 'then'}: everything its agent knows is word for word in its
        messages.
      </p>
    )
  }
  const older = known.filter(({ number }) => number < shown.number)
  const compared = older.find(({ number }) => number === against) ?? older[0]
  return (
    <div className="checkpoint">
      <div className="row">
        <label className="row">
          Checkpoint
          <select
            className="field"
            aria-label="Checkpoint"
            value={shown.number}
            onChange={event => {
              setChosen(Number(event.target.value))
              setAgainst(undefined)
            }}
          >
            {known.map(({ number, author }) => (
              <option key={number} value={number}>
                {number} by {author}
              </option>
            ))}
          </select>
        </label>
        {compared && (
          <label className="row">
            compared with
            <select
              className="field"
              aria-label="Compared with"
              value={compared.number}
              onChange={event => setAgainst(Number(event.target.value))}
            >
              {older.map(({ number }) => (
                <option key={number} value={number}>
                  {number}
                </option>
              ))}
            </select>
          </label>
        )}
        <span className="quiet small">
          stands for {counted(shown.messages, 'message')}, versions {whole(shown.from)}–{whole(shown.upTo)} ·{' '}
          {short(shown.tokens.checkpoint)} tokens · {short(shown.tokens.totalSaved)} saved so far
        </span>
      </div>
      <Items key={`${shown.number} ${compared?.number}`} session={session} shown={shown} compared={compared} />
      <Carried checkpoint={shown} conversationId={session.conversationId} />
    </div>
  )
}

function Items({
  session,
  shown,
  compared,
}: {
  session: Session
  shown: Checkpoint
  compared: Checkpoint | undefined
}) {
  const client = useClient()
  const { data: diff, error } = useResource(
    `difference ${session.id} ${compared?.number} ${shown.number}`,
    async signal =>
      compared &&
      client.sessions.compareCheckpoints(
        { sessionId: session.id, first: compared.number, second: shown.number },
        { signal },
      ),
  )
  const changes = changesOf(diff)
  const dropped = diff?.dropped ?? []
  const sections = Object.entries(sectionTitles)
    .map(([name, title]) => ({ title, items: shown.items.filter(({ section }) => section === name) }))
    .filter(({ items }) => items.length > 0)
  return (
    <div className="checkpoint__sections">
      {error !== undefined && <Failure error={error} />}
      {sections.map(({ title, items }) => (
        <section key={title} aria-label={title}>
          <h2>
            {title} <span className="quiet numbers">{items.length}</span>
          </h2>
          <ul>
            {items.map(item => (
              <Item key={item.id} item={item} change={changes.get(item.id)} session={session} />
            ))}
          </ul>
        </section>
      ))}
      {dropped.length > 0 && (
        <section aria-label="No longer in it">
          <h2>
            No longer in it <span className="quiet numbers">{dropped.length}</span>
          </h2>
          <ul>
            {dropped.map(item => (
              <Item key={item.id} item={item} change={{ word: 'dropped', kind: 'bad' }} session={session} />
            ))}
          </ul>
        </section>
      )}
    </div>
  )
}

function Item({
  item,
  change,
  session,
}: {
  item: CheckpointItem
  change: { word: string; kind: string; before?: string } | undefined
  session: Session
}) {
  const [isOpen, setOpen] = useState(false)
  return (
    <li className="checkpoint__item">
      <div className="checkpoint__text">
        <span className={item.resolved ? 'checkpoint__resolved' : undefined}>{item.text}</span>{' '}
        {item.pinned && <span className="badge badge--accent">pinned</span>}{' '}
        {item.resolved && <span className="badge">resolved in {item.resolved.in}</span>}{' '}
        {change && <span className={`badge badge--${change.kind}`}>{change.word}</span>}
        {change?.before !== undefined && (
          <span className="checkpoint__before">
            was: <del>{change.before}</del>
          </span>
        )}
      </div>
      <button
        type="button"
        className="button button--quiet button--small"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        {counted(item.sources.length, 'source')}
      </button>
      {isOpen && <Sources item={item} session={session} />}
    </li>
  )
}

/** The messages an item came from, quoted, with links. */
function Sources({ item, session }: { item: CheckpointItem; session: Session }) {
  const client = useClient()
  const project = useProject()
  const { data, error, reload } = useResource(`sources ${session.id} ${item.id}`, signal =>
    client.sessions.checkpointItem({ sessionId: session.id, itemId: item.id }, { signal }),
  )
  if (error !== undefined) return <Failure error={error} onRetry={reload} />
  return (
    <ol className="checkpoint__sources" aria-busy={!data}>
      {data?.messages.map(message => (
        <li key={message.id}>
          <Link to={conversationPlace(project, session.conversationId, message.version)}>
            <span className="numbers">{message.version}</span> {message.author}
          </Link>
          <p>{message.content || (message.missing ? message.missing.reason : '(no text)')}</p>
        </li>
      ))}
    </ol>
  )
}

/** Sections that code computed from the covered messages. */
function Carried({ checkpoint, conversationId }: { checkpoint: Checkpoint; conversationId: string }) {
  const project = useProject()
  const { openCalls, filesRead, filesChanged, userMessages } = checkpoint.carried
  if (openCalls.length + filesRead.length + filesChanged.length + userMessages.length === 0) return null
  return (
    <section className="checkpoint__carried" aria-label="Carried on by code">
      <h2>Carried on by code</h2>
      {openCalls.length > 0 && (
        <p>Open calls: {openCalls.map(({ name, callId }) => `${name} (${callId})`).join(', ')}</p>
      )}
      {filesChanged.length > 0 && <Files name="Changed" files={filesChanged} />}
      {filesRead.length > 0 && <Files name="Read" files={filesRead} />}
      {userMessages.length > 0 && (
        <ul>
          {userMessages.map(({ version, text }) => (
            <li key={version}>
              <Link to={conversationPlace(project, conversationId, version)}>
                <span className="numbers">{version}</span>
              </Link>{' '}
              {text}
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}

function Files({ name, files }: { name: string; files: readonly string[] }) {
  return (
    <p>
      {name}:{' '}
      {files.map((file, index) => (
        <span key={file}>
          {index > 0 && ', '}
          <code>{file}</code>
        </span>
      ))}
    </p>
  )
}
