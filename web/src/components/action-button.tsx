/** A button for what should not happen by accident: it says what will happen, and does it when that is confirmed. */
import { type ReactNode, useRef, useState } from 'react'
import './action-button.css'
import { tellFailure } from './notices.tsx'

export interface ActionButtonProps {
  label: string
  /** What will happen, and whether it can be taken back. */
  children: ReactNode
  /** The word on the button that does it. Default: the label. */
  doIt?: string
  isBad?: boolean
  isDisabled?: boolean
  /** Fields of the dialog, if it has any. */
  fields?: ReactNode
  run: () => Promise<unknown>
}

export function ActionButton({ label, children, doIt = label, isBad, isDisabled, fields, run }: ActionButtonProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const [isRunning, setRunning] = useState(false)
  const [isOpen, setOpen] = useState(false)
  const onConfirm = () => {
    setRunning(true)
    run()
      .catch(tellFailure)
      .finally(() => {
        setRunning(false)
        dialog.current?.close()
      })
  }
  return (
    <>
      <button
        type="button"
        className="button button--small"
        disabled={isDisabled}
        onClick={() => {
          setOpen(true)
          dialog.current?.showModal()
        }}
      >
        {label}
      </button>
      <dialog ref={dialog} className="dialog" aria-label={label} onClose={() => setOpen(false)}>
        {isOpen && (
          <form
            method="dialog"
            onSubmit={event => {
              event.preventDefault()
              onConfirm()
            }}
          >
            <h2>{label}</h2>
            <div className="dialog__text">{children}</div>
            {fields}
            <div className="dialog__buttons">
              <button type="button" className="button" onClick={() => dialog.current?.close()}>
                Cancel
              </button>
              <button
                type="submit"
                className={`button ${isBad ? 'button--bad' : 'button--main'}`}
                disabled={isRunning}
                // biome-ignore lint/a11y/noAutofocus: a dialog moves the focus; here to what was asked for
                autoFocus
              >
                {isRunning ? 'Working …' : doIt}
              </button>
            </div>
          </form>
        )}
      </dialog>
    </>
  )
}
