/** Hooks for live events. */
import type { LiveEvent } from 'colloquy/client'
import { useEffect, useRef } from 'react'
import { useLiveConnection } from './client.tsx'
import type { ConnectionState } from './live.ts'
import { useStore } from './store.ts'

export function useConnectionState(): ConnectionState {
  return useStore(useLiveConnection().state)
}

/** Calls `onEvent` for each event while the component is mounted. It may be a new function on every render. */
export function useLiveEvents(onEvent: (event: LiveEvent) => void, onReopened?: () => void): void {
  const live = useLiveConnection()
  const newest = useRef({ onEvent, onReopened })
  newest.current = { onEvent, onReopened }
  useEffect(() => {
    const ends = [
      live.onEvent(event => newest.current.onEvent(event)),
      live.onReopened(() => newest.current.onReopened?.()),
    ]
    return () => {
      for (const end of ends) end()
    }
  }, [live])
}
