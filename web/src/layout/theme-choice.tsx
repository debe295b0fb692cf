/** A button that cycles through the system, light and dark themes. */
import { type Theme, useTheme } from '../theme/theme.ts'

const next: Record<Theme, Theme> = { system: 'light', light: 'dark', dark: 'system' }
const signs: Record<Theme, string> = { system: '◐', light: '☀', dark: '☾' }

export function ThemeChoice() {
  const [theme, choose] = useTheme()
  const label = `Theme: ${theme}. Change to ${next[theme]}`
  return (
    <button
      type="button"
      className="button button--quiet button--small"
      aria-label={label}
      title={label}
      onClick={() => choose(next[theme])}
    >
      <span aria-hidden="true">{signs[theme]}</span>
    </button>
  )
}
