/** A time inside a sentence, past or future, with the exact one on hover. Rows use the shorter `Time`. */
import { useStore } from '../connection/store.ts'
import { exact } from '../format.ts'
import { clock } from './time.tsx'

export function When({ at }: { at: string }) {
  const then = Date.parse(at)
  // A time newer than the last clock tick must not read as the future.
  const shown = Math.max(useStore(clock), Math.min(Date.now(), then))
  return (
    <time dateTime={at} title={exact(at)}>
      {inWords(then - shown)}
    </time>
  )
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

function inWords(milliseconds: number): string {
  if (Math.abs(milliseconds) < 10_000) return 'just now'
  for (const [unit, size, most] of steps) {
    const amount = Math.round(milliseconds / size)
    if (Math.abs(amount) < most) return words.format(amount, unit)
  }
  return ''
}
