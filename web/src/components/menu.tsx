/** A button with a list of things to do. Keyboard: arrows, Home, End, Escape; focus goes back to the button. */
import { type ReactNode, useEffect, useId, useRef, useState } from 'react'
import './menu.css'

export interface MenuItem {
  label: string
  /** Explains the item where its label is not enough. */
  hint?: string
  isDangerous?: boolean
  isDisabled?: boolean
  onChoose(): void
}

interface Props {
  label: string
  /** A function is called each time the menu opens. */
  items: readonly MenuItem[] | (() => readonly MenuItem[])
  className?: string
  children?: ReactNode
}

export function Menu({ label, items, className = 'button button--quiet button--small', children = '⋯' }: Props) {
  const [opened, setOpened] = useState<{ place: { top: number; left: number }; items: readonly MenuItem[] }>()
  const button = useRef<HTMLButtonElement>(null)
  const list = useRef<HTMLDivElement>(null)
  const id = useId()
  const isOpen = opened !== undefined

  const open = () => {
    const { bottom, top, right } = button.current!.getBoundingClientRect()
    const shown = typeof items === 'function' ? items() : items
    const high = shown.length * 34 + 12
    const below = bottom + high < innerHeight ? bottom + 4 : Math.max(8, top - high - 4)
    setOpened({ place: { top: below, left: Math.max(8, Math.min(right - 240, innerWidth - 248)) }, items: shown })
  }
  const close = () => {
    setOpened(undefined)
    button.current?.focus()
  }

  useEffect(() => {
    if (!isOpen) return
    list.current?.querySelector<HTMLElement>('[role=menuitem]:not(:disabled)')?.focus()
    const away = (event: Event) => {
      const at = event.target instanceof Node ? event.target : undefined
      if (at && list.current?.contains(at)) return
      // Scrolling elsewhere, such as a growing timeline, does not move the button.
      if (event.type === 'scroll' && at && !at.contains(button.current)) return
      setOpened(undefined)
    }
    addEventListener('pointerdown', away, true)
    addEventListener('scroll', away, true)
    addEventListener('resize', away)
    return () => {
      removeEventListener('pointerdown', away, true)
      removeEventListener('scroll', away, true)
      removeEventListener('resize', away)
    }
  }, [isOpen])

  const onKeyDown = (event: React.KeyboardEvent) => {
    const all = [...list.current!.querySelectorAll<HTMLElement>('[role=menuitem]:not(:disabled)')]
    const at = all.indexOf(document.activeElement as HTMLElement)
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key]
    if (next !== undefined) {
      event.preventDefault()
      all[(next + all.length) % all.length]?.focus()
    } else if (event.key === 'Escape' || event.key === 'Tab') {
      event.preventDefault()
      event.stopPropagation()
      close()
    }
  }

  return (
    <>
      <button
        ref={button}
        type="button"
        className={className}
        aria-label={label}
        title={label}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        aria-controls={isOpen ? id : undefined}
        onClick={() => (isOpen ? close() : open())}
      >
        {children}
      </button>
      {opened && (
        <div
          ref={list}
          id={id}
          className="menu"
          role="menu"
          aria-label={label}
          tabIndex={-1}
          style={opened.place}
          onKeyDown={onKeyDown}
        >
          {opened.items.map(({ label, hint, isDangerous, isDisabled, onChoose }) => (
            <button
              key={label}
              type="button"
              role="menuitem"
              className={isDangerous ? 'menu__item menu__item--bad' : 'menu__item'}
              disabled={isDisabled}
              title={hint}
              onClick={() => {
                close()
                onChoose()
              }}
            >
              {label}
            </button>
          ))}
        </div>
      )}
    </>
  )
}
