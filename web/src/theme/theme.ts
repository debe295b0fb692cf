/**
 * Light or dark theme: the system's, unless the person chose one. `public/theme.js` applies it before the first paint.
 */
import { useSyncExternalStore } from 'react'
import { store } from '../connection/store.ts'

export type Theme = 'system' | 'light' | 'dark'

const key = 'colloquy:theme'
const chosen = store<Theme>(read())

export function useTheme(): [Theme, (theme: Theme) => void] {
  return [useSyncExternalStore(chosen.subscribe, chosen.get), choose]
}

export function choose(theme: Theme): void {
  chosen.set(theme)
  if (theme === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
  try {
    if (theme === 'system') localStorage.removeItem(key)
    else localStorage.setItem(key, theme)
  } catch {
    // Without storage the choice lasts as long as the page.
  }
}

function read(): Theme {
  const said = document.documentElement.dataset.theme
  return said === 'light' || said === 'dark' ? said : 'system'
}
