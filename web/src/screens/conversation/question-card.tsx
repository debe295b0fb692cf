/** A question of an agent, with the controls to answer it. */
import type { QuestionAsked } from 'colloquy/client'
import { useState } from 'react'
import { tellFailure } from '../../components/notices.tsx'
import { Time } from '../../components/time.tsx'
import { When } from '../../components/when.tsx'
import { useClient } from '../../connection/client.tsx'
import type { OpenQuestion } from '../../connection/questions.tsx'
import { Markdown } from '../../markdown/markdown.tsx'
import { Author } from '../../message/author.tsx'
import './question-card.css'

/** A question in the timeline, open or answered. */
export function AskedQuestion({
  asked,
  at,
  open,
}: {
  asked: QuestionAsked
  at: string
  open: OpenQuestion | undefined
}) {
  if (open) return <QuestionCard question={open} />
  return (
    <div className="question question--over">
      <div className="row">
        <Author name={asked.agent} />
        <span className="quiet small">asked{asked.kind === 'approval' ? ' for leave' : ''}</span>
        <Time at={at} className="quiet small" />
      </div>
      <Markdown text={asked.text} />
    </div>
  )
}

export function QuestionCard({ question }: { question: OpenQuestion }) {
  const { id, agent, kind, text, choices, dueAt, conversationId } = question
  const client = useClient()
  const [own, setOwn] = useState('')
  const [isSending, setSending] = useState(false)
  const options = choices ?? (kind === 'approval' ? ['yes', 'no'] : [])
  const give = (answer: string) => {
    setSending(true)
    client.runs.answer({ questionId: id, body: { answer, conversationId } }).catch(error => {
      setSending(false)
      tellFailure(error)
    })
  }
  return (
    <section className="question" aria-label={`${agent} asks`}>
      <div className="row">
        <Author name={agent} />
        <span className="badge badge--warn">{kind === 'approval' ? 'asks for leave' : 'asks'}</span>
        <span className="grow" />
        {dueAt !== undefined && (
          <span className="quiet small">
            due <When at={dueAt} />
          </span>
        )}
      </div>
      <Markdown text={text} />
      <form
        className="question__answers"
        onSubmit={event => {
          event.preventDefault()
          if (own.trim() !== '') give(own)
        }}
      >
        {options.map((choice, index) => (
          <button
            key={choice}
            type="button"
            className={index === 0 ? 'button button--main' : 'button'}
            disabled={isSending}
            onClick={() => give(choice)}
          >
            {choice}
          </button>
        ))}
        {kind !== 'approval' && (
          <>
            <input
              className="field grow"
              aria-label={`Answer to ${agent}`}
              placeholder={options.length > 0 ? 'or something else' : 'Your answer'}
              value={own}
              onChange={event => setOwn(event.target.value)}
            />
            <button type="submit" className="button" disabled={isSending || own.trim() === ''}>
              Answer
            </button>
          </>
        )}
      </form>
    </section>
  )
}
