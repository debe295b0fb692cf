/** What was typed and not sent: it survives a reload, per conversation. */
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
        // No storage, or it is full: the draft lives as long as the page.
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
