/**
 * Data read from the server and reloaded when live events change it. The old data stays on the page during a reload, so
 * that nothing jumps.
 */
import type { LiveEvent } from 'colloquy/client'
import { useCallback, useEffect, useRef, useState } from 'react'
import { useLiveConnection } from './client.tsx'
import { useLiveEvents } from './use-live.ts'

interface Resource<T> {
  data: T | undefined
  error: unknown
  isLoading: boolean
  reload(): void
}

/** Minimum interval between reloads. */
const usualPaceMs = 400

/**
 * @param key identifies the data; another key starts over
 * @param load reads the data
 * @param isConcerned returns true for events that change it; without it no event does
 * @param paceMs minimum interval between reloads; longer for what is expensive on the server
 */
export function useResource<T>(
  key: string,
  load: (signal: AbortSignal) => Promise<T>,
  isConcerned?: (event: LiveEvent) => boolean,
  paceMs: number = usualPaceMs,
): Resource<T> {
  const [state, setState] = useState<{ key: string; data?: T; error?: unknown; isLoading: boolean }>({
    key,
    isLoading: true,
  })
  const live = useLiveConnection()
  const newest = useRef({ key, load })
  newest.current = { key, load }
  const running = useRef<AbortController | undefined>(undefined)
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)

  const reload = useCallback(() => {
    running.current?.abort()
    const current = new AbortController()
    running.current = current
    const { key, load } = newest.current
    setState(before => (before.key === key ? { ...before, isLoading: true } : { key, isLoading: true }))
    live.ready
      .then(() => {
        current.signal.throwIfAborted()
        return load(current.signal)
      })
      .then(
        data => {
          if (!current.signal.aborted) setState({ key, data, isLoading: false })
        },
        (error: unknown) => {
          if (current.signal.aborted) return
          setState(before => ({ ...(before.key === key && { data: before.data }), key, error, isLoading: false }))
        },
      )
  }, [live])

  // biome-ignore lint/correctness/useExhaustiveDependencies: the key stands for what is loaded
  useEffect(() => {
    reload()
    return () => {
      running.current?.abort()
      clearTimeout(timer.current)
      timer.current = undefined
    }
  }, [key, reload])

  useLiveEvents(event => {
    if (timer.current !== undefined || !isConcerned?.(event)) return
    timer.current = setTimeout(() => {
      timer.current = undefined
      reload()
    }, paceMs)
  }, reload)

  const isCurrent = state.key === key
  return {
    data: isCurrent ? state.data : undefined,
    error: isCurrent ? state.error : undefined,
    isLoading: !isCurrent || state.isLoading,
    reload,
  }
}
