/** Where one writes to an agent, or to everybody. */
import { ApiError, type Conversation } from 'colloquy/client'
import { useEffect, useRef, useState } from 'react'
import { ask } from '../../components/ask.tsx'
import { Failure } from '../../components/failure.tsx'
import { tellFailure } from '../../components/notices.tsx'
import { ownName, useClient, useProject } from '../../connection/client.tsx'
import { goWith, useQuery } from '../../router/router.tsx'
import './composer.css'
import { useDraft } from './drafts.ts'
import type { SessionBrief } from './use-conversation.ts'

interface Props {
  conversation: Conversation
  sessions: readonly SessionBrief[]
  /** Told when something was sent, so that one sees it arrive. */
  onSent(): void
}

/** To everybody: nobody is run. */
const everybody = ''
/** To an agent that has no session here yet. */
const somebodyNew = 'new'

export function Composer({ conversation, sessions, onSent }: Props) {
  const client = useClient()
  const project = useProject()
  const { id: conversationId, status } = conversation
  const [text, setText] = useDraft(`${project}/${conversationId}`)
  const agents = sessions.filter(session => session.status === 'active')
  const [chosen, choose] = useState<string>()
  const [newcomer, setNewcomer] = useState<string>()
  const isNew = chosen === somebodyNew && newcomer !== undefined
  const to = agents.find(({ id }) => id === chosen) ?? (chosen === everybody || isNew ? undefined : agents[0])
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

  if (status !== 'active') {
    const isArchived = status === 'archived'
    const reopen = () =>
      (isArchived
        ? client.conversations.restore({ conversationId })
        : client.conversations.reopen({ conversationId })
      ).catch(tellFailure)
    return (
      <div className="composer composer--closed">
        <span className="quiet">This conversation is {status}, so it is read-only.</span>
        <button type="button" className="button button--small" onClick={reopen}>
          {isArchived ? 'Restore' : 'Reopen'}
        </button>
      </div>
    )
  }

  async function send(answered: boolean): Promise<void> {
    const content = text.trim()
    if (content === '' || isSending) return
    setSending(true)
    setError(undefined)
    try {
      const message = { role: 'user', author: await ownName(), content } as const
      if (isNew) {
        const addressed = { ...message, addressees: [newcomer] }
        await client.runs.startAgent({
          conversationId,
          body: { agent: newcomer, message: addressed, priority: 'person' },
        })
        choose(undefined)
      } else if (!to) await client.conversations.say({ conversationId, body: message })
      else {
        const addressed = { ...message, addressees: [to.agentName] }
        if (answered) await client.runs.start({ sessionId: to.id, body: { message: addressed, priority: 'person' } })
        else await client.sessions.addMessage({ sessionId: to.id, body: addressed })
      }
      setText('')
      onSent()
    } catch (problem) {
      setError(problem)
    } finally {
      setSending(false)
      field.current?.focus()
    }
  }

  async function invite(): Promise<void> {
    const given = await ask({
      title: 'Another agent',
      text: 'It joins with your first message, and sees what everybody may see.',
      confirm: 'Write to it',
      field: { label: 'Its name', isNeeded: true },
    })
    if (!given) return
    setNewcomer(given.text.trim())
    choose(somebodyNew)
    field.current?.focus()
  }

  const label = `Message to ${isNew ? newcomer : (to?.agentName ?? 'everybody')}`
  const isWithoutModel = error instanceof ApiError && error.code.includes('model')
  return (
    <form
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
        <label className="unseen" htmlFor="composer-to">
          To
        </label>
        <select
          id="composer-to"
          className="field composer__to"
          value={isNew ? somebodyNew : (to?.id ?? everybody)}
          onChange={event => (event.target.value === somebodyNew ? void invite() : choose(event.target.value))}
        >
          {agents.map(({ id, agentName }) => (
            <option key={id} value={id}>
              {agentName}
            </option>
          ))}
          <option value={everybody}>everybody</option>
          <option value={somebodyNew}>{newcomer ?? 'another agent…'}</option>
        </select>
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
            // Enter also ends a word that is being composed, in languages that are written so.
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

/** As high as its text, to a point. */
function grow(element: HTMLTextAreaElement | null): void {
  if (!element) return
  element.style.height = 'auto'
  element.style.height = `${Math.min(element.scrollHeight + 2, innerHeight * 0.4)}px`
}
