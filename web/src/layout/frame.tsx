/** The frame around every screen: project, navigation, connection, theme. */
import type { ReactNode } from 'react'
import { useProject } from '../connection/client.tsx'
import { address, match } from '../router/address.ts'
import { Link, useAddress } from '../router/router.tsx'
import { routes } from '../routes.tsx'
import { ConnectionBadge } from './connection-badge.tsx'
import './frame.css'
import { QuestionsBadge } from './questions-badge.tsx'
import { openPalette, Shortcuts } from './shortcuts.tsx'
import { ThemeChoice } from './theme-choice.tsx'

const isMac = navigator.platform.startsWith('Mac')

export function Frame({ children }: { children: ReactNode }) {
  const project = useProject()
  const here = useAddress()
  return (
    <div className="frame">
      <button type="button" className="frame__skip" onClick={() => document.getElementById('main')?.focus()}>
        Skip to content
      </button>
      <header className="frame__bar">
        <Link to={address([])} className="frame__logo" aria-label="Colloquy, all projects">
          <img src="./icon.svg" alt="" width="20" height="20" />
        </Link>
        <Link to={address([project])} className="frame__project cut">
          {project}
        </Link>
        <nav className="frame__nav" aria-label="Screens">
          {routes
            .filter(({ title }) => title !== undefined)
            .map(({ path, title }) => {
              const to = address(path.split('/').map(segment => (segment === ':project' ? project : segment)))
              return (
                <Link key={path} to={to} aria-current={match(path, here) ? 'page' : undefined}>
                  {title}
                </Link>
              )
            })}
        </nav>
        <span className="grow" />
        <QuestionsBadge />
        <button type="button" className="frame__find" onClick={openPalette}>
          <span className="frame__find-words">Go to, or do</span> <kbd>{isMac ? '⌘K' : 'Ctrl K'}</kbd>
        </button>
        <ConnectionBadge />
        <ThemeChoice />
      </header>
      <main className="frame__main" id="main" tabIndex={-1}>
        {children}
      </main>
      <Shortcuts />
    </div>
  )
}
