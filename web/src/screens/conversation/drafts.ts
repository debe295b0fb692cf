/** Unsent drafts, kept per conversation across reloads. */
import { useCallback, useState } from 'react'

const prefix = 'colloquy:draft:'

export function useDraft(key: string): [string, (text: string) => void] {
  const [text, setText] = useState(() => read(key))
  const keep = useCallback(
    (next: string) => {
      setText(next)
      try {
        if (next === '') localStorage.removeItem(prefix + key)
        else localStorage.setItem(prefix + key, next)
      } catch {
        // Storage is missing or full: the draft lasts as long as the page.
      }
    },
    [key],
  )
  return [text, keep]
}

function read(key: string): string {
  try {
    return localStorage.getItem(prefix + key) ?? ''
  } catch {
    return ''
  }
}
