/** Shows the state of the live connection. */
import { useLiveConnection } from '../connection/client.tsx'
import type { ConnectionState } from '../connection/live.ts'
import { useStore } from '../connection/store.ts'
import { useConnectionState } from '../connection/use-live.ts'
import './connection-badge.css'

const words: Record<ConnectionState, string> = {
  connecting: 'Connecting',
  open: 'Live',
  lost: 'Reconnecting',
  paused: 'Paused',
  refused: 'Not let in',
}

export function ConnectionBadge() {
  const state = useConnectionState()
  const problem = useStore(useLiveConnection().problem)
  return (
    <span className={`connection connection--${state}`} role="status" title={problem ?? hints[state]}>
      <span className="connection__dot" aria-hidden="true" />
      <span className="connection__word">{words[state]}</span>
    </span>
  )
}

const hints: Record<ConnectionState, string> = {
  connecting: 'Asking the server for live events',
  open: 'What happens is shown as it happens',
  lost: 'The connection was lost. It is made again by itself, and nothing is missed',
  paused: 'This page was not looked at for a while',
  refused: 'The server refuses live events',
}
