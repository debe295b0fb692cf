/** A text field with a list that arrow keys move through, shared by search and the palette. */
import { type KeyboardEvent, useId, useState } from 'react'

interface Combobox {
  active: number
  setActive(index: number): void
  /** Attributes for the field. */
  field: Record<string, unknown>
  /** Attributes for the list and for each option. */
  list: Record<string, unknown>
  option(index: number): Record<string, unknown>
}

/** @param label the accessible name of the list */
export function useCombobox(label: string, count: number, onChoose: (index: number) => void): Combobox {
  const id = useId()
  const [wanted, setActive] = useState(0)
  const active = Math.max(0, Math.min(wanted, count - 1))
  const optionId = (index: number) => `${id}-option-${index}`

  const move = (to: number) => {
    setActive(to)
    document.getElementById(optionId(to))?.scrollIntoView({ block: 'nearest' })
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing || count === 0) return
    const to = { ArrowDown: active + 1, ArrowUp: active - 1, PageDown: active + 8, PageUp: active - 8 }[event.key]
    if (to !== undefined) {
      event.preventDefault()
      move(Math.max(0, Math.min(to, count - 1)))
    } else if (event.key === 'Enter') {
      event.preventDefault()
      onChoose(active)
    }
  }
  return {
    active,
    setActive,
    field: {
      role: 'combobox',
      'aria-expanded': count > 0,
      'aria-controls': `${id}-list`,
      'aria-autocomplete': 'list',
      'aria-activedescendant': count > 0 ? optionId(active) : undefined,
      autoComplete: 'off',
      spellCheck: false,
      onKeyDown,
    },
    list: { id: `${id}-list`, role: 'listbox', 'aria-label': label },
    option: index => ({
      id: optionId(index),
      role: 'option',
      'aria-selected': index === active,
      onMouseMove: () => setActive(index),
      onClick: () => onChoose(index),
    }),
  }
}
