/** Dialogs that confirm an action, ask for a text, or offer a choice. One dialog at a time. */
import { useEffect, useId, useRef, useState } from 'react'
import { store, useStore } from '../connection/store.ts'
import './ask.css'

interface Asked {
  title: string
  /** Consequences of the action, and how to undo it. */
  text: string
  confirm: string
  isDangerous?: boolean
  /** Asks for a text; `value` is the initial text. */
  field?: { label: string; value?: string; isNeeded?: boolean; isLong?: boolean }
  /** Asks for one of several options. */
  choice?: { label: string; options: readonly string[] }
}

interface Given {
  text: string
  choice: string
}

const asked = store<(Asked & { answer(given: Given | undefined): void }) | undefined>(undefined)

/** @returns the answer, or undefined when the person cancels */
export function ask(question: Asked): Promise<Given | undefined> {
  asked.get()?.answer(undefined)
  return new Promise(resolve => {
    asked.set({
      ...question,
      answer(given) {
        asked.set(undefined)
        resolve(given)
      },
    })
  })
}

export function AskDialog() {
  const question = useStore(asked)
  return question ? <Dialog key={question.title} {...question} /> : null
}

function Dialog({ title, text, confirm, isDangerous, field, choice, answer }: Asked & { answer(given?: Given): void }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const [said, setSaid] = useState(field?.value ?? '')
  const [chosen, setChosen] = useState(choice?.options[0] ?? '')
  const id = useId()
  useEffect(() => {
    dialog.current?.showModal()
  }, [])
  const Field = field?.isLong ? 'textarea' : 'input'
  return (
    <dialog ref={dialog} className="ask" aria-labelledby={`${id}-title`} onClose={() => answer(undefined)}>
      <form
        method="dialog"
        onSubmit={event => {
          event.preventDefault()
          answer({ text: said, choice: chosen })
        }}
      >
        <h2 id={`${id}-title`}>{title}</h2>
        <p className="quiet">{text}</p>
        {choice && (
          <label className="ask__field">
            {choice.label}
            <select className="field" value={chosen} onChange={event => setChosen(event.target.value)}>
              {choice.options.map(option => (
                <option key={option}>{option}</option>
              ))}
            </select>
          </label>
        )}
        {field && (
          <label className="ask__field" htmlFor={`${id}-field`}>
            {field.label}
            <Field
              id={`${id}-field`}
              className="field"
              value={said}
              required={field.isNeeded}
              onChange={(event: { target: { value: string } }) => setSaid(event.target.value)}
            />
          </label>
        )}
        <div className="ask__ends">
          <button type="button" className="button" onClick={() => answer(undefined)}>
            Cancel
          </button>
          <button type="submit" className={isDangerous ? 'button button--bad' : 'button button--main'}>
            {confirm}
          </button>
        </div>
      </form>
    </dialog>
  )
}
