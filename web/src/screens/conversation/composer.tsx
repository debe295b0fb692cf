/** The composer: writes to one agent or to everyone. */
import { ApiError, type Conversation } from 'colloquy/client'
import { useEffect, useRef, useState } from 'react'
import { ask } from '../../components/ask.tsx'
import { Failure } from '../../components/failure.tsx'
import { keepNoticesAbove, tellFailure } from '../../components/notices.tsx'
import { ownName, useClient, useProject } from '../../connection/client.tsx'
import { goWith, useQuery } from '../../router/router.tsx'
import './composer.css'
import { useDraft } from './drafts.ts'
import type { SessionBrief } from './use-conversation.ts'

interface Props {
  conversation: Conversation
  sessions: readonly SessionBrief[]
  /** Sessions on related conversations whose agents are likely to join this one. */
  others: readonly SessionBrief[]
  /** Called after a message was sent, so that the timeline can scroll to it. */
  onSent(): void
}

type Recipient =
  | { kind: 'session'; key: string; name: string; sessionId: string }
  /** An agent without a session here; the first message creates one. */
  | { kind: 'newcomer'; key: string; name: string; agentType?: string }
  /** Starts no agent. */
  | { kind: 'everybody'; key: string; name: string }

const everybody: Recipient = { kind: 'everybody', key: 'everybody', name: 'everybody' }
const invitation = 'invitation'

/** Possible recipients: agents with a session here, agents likely to join, everyone. */
function recipientsOf({ sessions, others }: Props, invited: string | undefined): Recipient[] {
  const here = sessions.filter(({ status }) => status === 'active')
  const names = new Set(here.map(({ agentName }) => agentName))
  const likely = new Map(
    others.filter(({ agentName }) => !names.has(agentName)).map(session => [session.agentName, session.agentType]),
  )
  return [
    ...here.map(({ id, agentName }) => ({ kind: 'session', key: id, name: agentName, sessionId: id }) as const),
    ...[...likely].map(([name, agentType]) => ({ kind: 'newcomer', key: `new ${name}`, name, agentType }) as const),
    ...(invited === undefined || names.has(invited) || likely.has(invited)
      ? []
      : [{ kind: 'newcomer', key: `new ${invited}`, name: invited } as const]),
    everybody,
  ]
}

export function Composer(props: Props) {
  const { conversation, onSent } = props
  const client = useClient()
  const project = useProject()
  const { id: conversationId, status } = conversation
  const [text, setText] = useDraft(`${project}/${conversationId}`)
  const [chosen, choose] = useState<string>()
  const [invited, setInvited] = useState<string>()
  const recipients = recipientsOf(props, invited)
  // A newcomer gets a session with the first message.
  const to =
    recipients.find(({ key }) => key === chosen) ??
    recipients.find(({ name }) => `new ${name}` === chosen) ??
    recipients[0]!
  const [isSending, setSending] = useState(false)
  const [error, setError] = useState<unknown>()
  const field = useRef<HTMLTextAreaElement>(null)
  const isAsked = useQuery('write') !== undefined
  useEffect(() => {
    if (!isAsked) return
    field.current?.focus()
    goWith({ write: undefined }, { replace: true })
  }, [isAsked])
  // biome-ignore lint/correctness/useExhaustiveDependencies: the text decides how high the field is
  useEffect(() => grow(field.current), [text])

  if (status !== 'active') return <ClosedComposer conversation={conversation} />

  async function send(isAnswered: boolean): Promise<void> {
    const content = text.trim()
    if (content === '' || isSending) return
    setSending(true)
    setError(undefined)
    try {
      await sendMessage({ client, conversationId, to, content, isAnswered })
      setText('')
      onSent()
    } catch (problem) {
      setError(problem)
    } finally {
      setSending(false)
      field.current?.focus()
    }
  }

  function chooseNewcomer(name: string): void {
    setInvited(name)
    const session = props.sessions.find(({ agentName, status }) => agentName === name && status === 'active')
    choose(session?.id ?? `new ${name}`)
    field.current?.focus()
  }

  const label = `Message to ${to.name}`
  const isWithoutModel = error instanceof ApiError && error.code.includes('model') && to.kind === 'session'
  return (
    <form
      ref={keepNoticesAbove}
      className="composer"
      onSubmit={event => {
        event.preventDefault()
        void send(true)
      }}
    >
      {error !== undefined && (
        <div className="composer__error">
          <Failure error={error} />
          {isWithoutModel && (
            <button type="button" className="button button--small" onClick={() => void send(false)}>
              Record it without an answer
            </button>
          )}
        </div>
      )}
      <div className="composer__row">
        <RecipientSelect to={to} recipients={recipients} onChoose={choose} onInvite={chooseNewcomer} />
        <textarea
          ref={field}
          className="field composer__text"
          rows={1}
          aria-label={label}
          placeholder={label}
          title="Enter sends, Shift+Enter makes a new line"
          value={text}
          onChange={event => setText(event.target.value)}
          onKeyDown={event => {
            // Enter also confirms a word in input methods for Chinese, Japanese or Korean.
            if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
            event.preventDefault()
            void send(true)
          }}
        />
        <button type="submit" className="button button--main" disabled={isSending || text.trim() === ''}>
          Send
        </button>
      </div>
    </form>
  )
}

function ClosedComposer({ conversation: { id: conversationId, status } }: Pick<Props, 'conversation'>) {
  const client = useClient()
  const isArchived = status === 'archived'
  const reopen = () =>
    (isArchived
      ? client.conversations.restore({ conversationId })
      : client.conversations.reopen({ conversationId })
    ).catch(tellFailure)
  return (
    <div className="composer composer--closed" ref={keepNoticesAbove}>
      <span className="quiet">This conversation is {status}, so it is read-only.</span>
      <button type="button" className="button button--small" onClick={reopen}>
        {isArchived ? 'Restore' : 'Reopen'}
      </button>
    </div>
  )
}

interface RecipientSelectProps {
  to: Recipient
  recipients: readonly Recipient[]
  onChoose(key: string): void
  /** Called with the name of an agent that is not listed. */
  onInvite(name: string): void
}

function RecipientSelect({ to, recipients, onChoose, onInvite }: RecipientSelectProps) {
  async function invite(): Promise<void> {
    const answer = await ask({
      title: 'Another agent',
      text: 'It joins with your first message, and sees what everybody may see.',
      confirm: 'Write to it',
      field: { label: 'Its name', isNeeded: true },
    })
    if (answer) onInvite(answer.text.trim())
  }
  return (
    <>
      <label className="unseen" htmlFor="composer-to">
        To
      </label>
      <select
        id="composer-to"
        className="field composer__to"
        value={to.key}
        onChange={event => (event.target.value === invitation ? void invite() : onChoose(event.target.value))}
      >
        {recipients.map(({ key, name }) => (
          <option key={key} value={key}>
            {name}
          </option>
        ))}
        <option value={invitation}>another agent…</option>
      </select>
    </>
  )
}

interface Outgoing {
  client: ReturnType<typeof useClient>
  conversationId: string
  to: Recipient
  content: string
  /** False to record a message to an agent without running the agent. */
  isAnswered: boolean
}

async function sendMessage({ client, conversationId, to, content, isAnswered }: Outgoing): Promise<void> {
  const author = await ownName()
  const message = {
    role: 'user',
    author,
    content,
    ...(to.kind !== 'everybody' && { addressees: [to.name] }),
  } as const
  if (to.kind === 'everybody') await client.conversations.say({ conversationId, body: message })
  else if (to.kind === 'newcomer') {
    const { name: agent, agentType } = to
    const newcomer = { agent, ...(agentType !== undefined && { agentType }) }
    await client.runs.startAgent({ conversationId, body: { ...newcomer, message, priority: 'person' } })
  } else if (isAnswered) {
    await client.runs.start({ sessionId: to.sessionId, body: { message, priority: 'person' } })
  } else await client.sessions.addMessage({ sessionId: to.sessionId, body: message })
}

/** Grows the field with its text, up to a maximum. */
function grow(element: HTMLTextAreaElement | null): void {
  if (!element) return
  element.style.height = 'auto'
  element.style.height = `${Math.min(element.scrollHeight + 2, innerHeight * 0.4)}px`
}
