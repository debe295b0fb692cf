/** A time as people say it, with the exact one on hover. All of them on a page move on together. */
import { useSyncExternalStore } from 'react'

const everyMs = 15_000
const listeners = new Set<() => void>()
let now = Date.now()
let ticking: ReturnType<typeof setInterval> | undefined

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  ticking ??= setInterval(() => {
    now = Date.now()
    for (const one of [...listeners]) one()
  }, everyMs)
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    clearInterval(ticking)
    ticking = undefined
  }
}

export function useNow(): number {
  return useSyncExternalStore(subscribe, () => now)
}

export function When({ at }: { at: string }) {
  const then = Date.parse(at)
  // A time that is newer than the last tick is not in the future.
  const shown = Math.max(useNow(), Math.min(Date.now(), then))
  return (
    <time dateTime={at} title={exact(at)}>
      {relative(then - shown)}
    </time>
  )
}

export function exact(at: string): string {
  return new Date(at).toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'medium' })
}

const steps = [
  ['second', 1000, 60],
  ['minute', 60_000, 60],
  ['hour', 3_600_000, 24],
  ['day', 86_400_000, 30],
  ['month', 2_592_000_000, 12],
  ['year', 31_536_000_000, Number.POSITIVE_INFINITY],
] as const
const words = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'short' })

export function relative(milliseconds: number): string {
  if (Math.abs(milliseconds) < 10_000) return 'just now'
  for (const [unit, size, most] of steps) {
    const amount = Math.round(milliseconds / size)
    if (Math.abs(amount) < most) return words.format(amount, unit)
  }
  return ''
}
