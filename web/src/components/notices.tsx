/** Notices: a completed action with an undo where possible, or a failure. */
import { store, useStore } from '../connection/store.ts'
import { explain } from './failure.tsx'
import './notices.css'

interface Notice {
  id: number
  text: string
  isFailure: boolean
  undo?: () => void
}

const notices = store<readonly Notice[]>([])
const shownForMs = 8000
/** Long enough to reach the undo button by keyboard. */
const takenBackWithinMs = 20_000
let newest = 0

/** Shows that an action was done. `undo` reverts it. */
export function tell(text: string, undo?: () => Promise<unknown>): void {
  add({ text, isFailure: false, ...(undo && { undo: () => void undo().catch(tellFailure) }) })
}

export function tellFailure(error: unknown): void {
  add({ text: explain(error), isFailure: true })
}

function add(notice: Omit<Notice, 'id'>): void {
  const id = ++newest
  notices.set([...notices.get().slice(-3), { ...notice, id }])
  setTimeout(() => dismiss(id), notice.isFailure || notice.undo ? takenBackWithinMs : shownForMs)
}

function dismiss(id: number): void {
  notices.set(notices.get().filter(notice => notice.id !== id))
}

/** A `ref` for an element at the lower edge that notices must not cover. */
export function keepNoticesAbove(element: HTMLElement | null): (() => void) | undefined {
  if (!element) return undefined
  const { style } = document.documentElement
  const sizes = new ResizeObserver(() => style.setProperty('--notices-above', `${element.offsetHeight}px`))
  sizes.observe(element)
  return () => {
    sizes.disconnect()
    style.removeProperty('--notices-above')
  }
}

export function Notices() {
  return (
    <div className="notices" aria-live="polite">
      {useStore(notices).map(({ id, text, isFailure, undo }) => (
        <div key={id} className={isFailure ? 'notice notice--bad' : 'notice'}>
          <span>{text}</span>
          {undo && (
            <button
              type="button"
              className="button button--small"
              onClick={() => {
                dismiss(id)
                undo()
              }}
            >
              Undo
            </button>
          )}
          <button
            type="button"
            className="button button--quiet button--small"
            aria-label="Dismiss"
            onClick={() => dismiss(id)}
          >
            ×
          </button>
        </div>
      ))}
    </div>
  )
}
