/** Global shortcuts: `/` searches, Ctrl-K or Cmd-K opens the palette. */
import { useEffect, useState } from 'react'
import { useProject } from '../connection/client.tsx'
import { store, useStore } from '../connection/store.ts'
import { Palette } from '../palette/palette.tsx'
import { address } from '../router/address.ts'
import { go } from '../router/router.tsx'

const isPaletteOpen = store(false)

export function openPalette(): void {
  isPaletteOpen.set(true)
}

export function Shortcuts() {
  const project = useProject()
  const isOpen = useStore(isPaletteOpen)
  const [returnTo, setReturnTo] = useState<Element | null>(null)
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === 'k') {
        event.preventDefault()
        setReturnTo(document.activeElement)
        isPaletteOpen.set(!isPaletteOpen.get())
      } else if (event.key === '/' && !event.ctrlKey && !event.metaKey && !isTyping(event.target)) {
        event.preventDefault()
        const field = document.getElementById('search-field')
        if (field) field.focus()
        else go(address([project, 'search']))
      }
    }
    addEventListener('keydown', onKeyDown)
    return () => removeEventListener('keydown', onKeyDown)
  }, [project])
  useEffect(() => () => isPaletteOpen.set(false), [])
  if (!isOpen) return null
  return (
    <Palette
      onClose={() => {
        isPaletteOpen.set(false)
        if (returnTo instanceof HTMLElement) returnTo.focus()
      }}
    />
  )
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable ||
      ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName) ||
      target.closest('dialog') !== null)
  )
}
