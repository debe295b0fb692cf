/** The project's home: open questions, running agents, and its conversations by last activity, live. */
import type { Conversation } from 'colloquy/client'
import { useState } from 'react'
import { Failure } from '../../components/failure.tsx'
import { Time } from '../../components/time.tsx'
import { useClient, useProject } from '../../connection/client.tsx'
import { useOpenQuestions, useTitle } from '../../connection/questions.tsx'
import { useResource } from '../../connection/use-resource.ts'
import { useCommands } from '../../palette/commands.ts'
import { address } from '../../router/address.ts'
import { goWith, Link, useAddress } from '../../router/router.tsx'
import { itemName } from '../conversation/header.tsx'
import { QuestionCard } from '../conversation/question-card.tsx'
import { FirstRun } from './first-run.tsx'
import './home.css'
import { chooseFile, ImportButton } from './import/import-button.tsx'
import { ImportFailure } from './import/import-failure.tsx'
import { newChat } from './new-chat.ts'
import { Statistics } from './statistics.tsx'

const statuses = ['active', 'completed', 'archived'] as const
const types = ['feature', 'task', 'bead', 'thread'] as const
const pageSize = 50

export function Home() {
  const project = useProject()
  const client = useClient()
  const questions = useOpenQuestions()
  const { query } = useAddress()
  const status = statuses.find(one => one === query.status)
  const type = types.find(one => one === query.type)
  const [limit, setLimit] = useState(pageSize)
  useTitle(project)
  const { data, error, reload } = useResource(
    `conversations ${status} ${type} ${limit}`,
    signal =>
      client.conversations.list({ query: { limit, ...(status && { status }), ...(type && { type }) } }, { signal }),
    () => true,
  )
  const runs = useResource(
    'runs',
    signal => client.runs.list({}, { signal }),
    event => event.type.startsWith('run.'),
  )
  const [problem, setProblem] = useState<unknown>()
  const [start] = useState(() => () => newChat(client, project))
  const [commands] = useState(() => () => [
    { label: 'New chat…', onChoose: start },
    { label: 'Bring a file along…', onChoose: chooseFile },
  ])
  useCommands('project', commands)

  const isEmpty = data?.items.length === 0 && status === undefined && type === undefined
  if (isEmpty) return <FirstRun />
  const working = new Map<string, string[]>()
  for (const { conversationId, agent, isDead } of runs.data?.items ?? []) {
    if (!isDead) working.set(conversationId, [...(working.get(conversationId) ?? []), agent])
  }
  return (
    <div className="page">
      <div className="page__inner home">
        <div className="row">
          <h1 className="grow cut">{project}</h1>
          <ImportButton label="Bring along" onBusy={isOn => isOn && setProblem(undefined)} onFailure={setProblem} />
          <button type="button" className="button button--main" onClick={start}>
            New chat
          </button>
        </div>
        {problem !== undefined && <ImportFailure error={problem} />}
        <Statistics />
        {questions.length > 0 && (
          <section aria-label="Open questions" className="home__questions">
            <h2>Waiting for you</h2>
            {questions.map(question => (
              <div key={question.id}>
                <Link
                  className="small"
                  to={address([project, 'conversations', question.conversationId], { v: question.version })}
                >
                  {question.title}
                </Link>
                <QuestionCard question={question} />
              </div>
            ))}
          </section>
        )}
        {error !== undefined && <Failure error={error} onRetry={reload} />}
        <div className="home__filters row">
          <h2>Conversations</h2>
          <span className="grow" />
          <Choice label="Status" name="status" options={statuses} value={status} />
          <Choice label="Type" name="type" options={types} value={type} />
        </div>
        <ul className="home__list" aria-label="Conversations">
          {data?.items.map(conversation => (
            <ConversationLine
              key={conversation.id}
              conversation={conversation}
              project={project}
              working={working.get(conversation.id)}
              waiting={questions.filter(one => one.conversationId === conversation.id).length}
            />
          ))}
        </ul>
        {data?.items.length === 0 && <p className="quiet">There is none like that.</p>}
        {data?.next !== undefined && (
          <button
            type="button"
            className="button"
            disabled={limit >= 1000}
            onClick={() => setLimit(Math.min(1000, limit * 2))}
          >
            {limit >= 1000 ? 'Search finds older ones' : 'Show more'}
          </button>
        )}
      </div>
    </div>
  )
}

interface LineProps {
  conversation: Conversation
  project: string
  working: readonly string[] | undefined
  waiting: number
}

function ConversationLine({ conversation, project, working, waiting }: LineProps) {
  const { id, title, status, phase, workItem, activeAt, version, branchOf } = conversation
  return (
    <li>
      <Link to={address([project, 'conversations', id])} className="home__line">
        <span className="home__title cut">{title}</span>
        <span className="home__facts">
          {waiting > 0 && <span className="badge badge--warn">{waiting} to answer</span>}
          {working && <span className="badge badge--accent">{working.join(', ')} at work</span>}
          {branchOf && <span className="badge">branch</span>}
          {phase !== undefined && <span className="badge badge--note">{phase}</span>}
          {status !== 'active' && (
            <span className={status === 'completed' ? 'badge badge--good' : 'badge'}>{status}</span>
          )}
        </span>
        <span className="home__item cut quiet small">{itemName(workItem)}</span>
        <span className="home__count quiet small numbers">{version} events</span>
        <Time at={activeAt} className="home__time quiet small numbers" />
      </Link>
    </li>
  )
}

interface ChoiceProps {
  label: string
  name: string
  options: readonly string[]
  value: string | undefined
}

function Choice({ label, name, options, value }: ChoiceProps) {
  return (
    <label className="small quiet">
      {label}{' '}
      <select
        className="field"
        value={value ?? ''}
        onChange={event => goWith({ [name]: event.target.value || undefined }, { replace: true })}
      >
        <option value="">all</option>
        {options.map(option => (
          <option key={option}>{option}</option>
        ))}
      </select>
    </label>
  )
}
