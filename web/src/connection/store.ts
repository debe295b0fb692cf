/** An observable value for components. There is no other state management. */
import { useSyncExternalStore } from 'react'

export interface Store<T> {
  get(): T
  set(value: T): void
  subscribe(listener: () => void): () => void
}

export function store<T>(initial: T): Store<T> {
  return storeThatTells(initial, tell => tell())
}

/** A store that notifies its listeners at most once per frame, for streamed data. */
export function pacedStore<T>(initial: T): Store<T> {
  return storeThatTells(initial, oncePerFrame())
}

/** Runs a callback in the next frame, once, however often it is scheduled. Hidden pages have no frames. */
export function oncePerFrame(): (call: () => void) => void {
  let isDue = false
  return call => {
    if (isDue) return
    isDue = true
    const due = () => {
      isDue = false
      call()
    }
    if (typeof document === 'undefined' || document.hidden) setTimeout(due, 50)
    else requestAnimationFrame(due)
  }
}

function storeThatTells<T>(initial: T, pace: (tell: () => void) => void): Store<T> {
  const listeners = new Set<() => void>()
  let value = initial
  const tell = () => {
    for (const listener of [...listeners]) listener()
  }
  return {
    get: () => value,
    set(next) {
      if (Object.is(next, value)) return
      value = next
      pace(tell)
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

export function useStore<T>(watched: Store<T>): T {
  return useSyncExternalStore(watched.subscribe, watched.get)
}
